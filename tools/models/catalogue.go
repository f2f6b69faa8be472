package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
)

// service is one file of the catalogue. Prices are dollars for a million
// tokens.
type service struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Endpoint     string  `json:"api_endpoint"`
	DefaultModel string  `json:"default_large_model_id"`
	Models       []model `json:"models"`
}

type model struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Input         float64  `json:"cost_per_1m_in"`
	Output        float64  `json:"cost_per_1m_out"`
	InCached      float64  `json:"cost_per_1m_in_cached"`
	OutCached     float64  `json:"cost_per_1m_out_cached"`
	Context       int64    `json:"context_window"`
	MaxTokens     int64    `json:"default_max_tokens"`
	CanReason     bool     `json:"can_reason"`
	Efforts       []string `json:"reasoning_levels"`
	DefaultEffort string   `json:"default_reasoning_effort"`
	Images        bool     `json:"supports_attachments"`
}

// readArchive reads the services of a module archive.
func readArchive(name string) ([]service, error) {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var list []service
	for _, file := range archive.File {
		if !strings.HasSuffix(path.Dir(file.Name), "/internal/providers/configs") || path.Ext(file.Name) != ".json" {
			continue
		}
		s, err := readService(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the archive has no service files")
	}
	return list, nil
}

func readService(file *zip.File) (s service, err error) {
	r, err := file.Open()
	if err != nil {
		return s, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}
