package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/stat"
)

// machine is what the numbers were made on.
type machine struct {
	OS         string  `json:"os"`
	Arch       string  `json:"arch"`
	CPUs       int     `json:"cpus"`
	Go         string  `json:"go"`
	FileSystem string  `json:"file_system"`
	SyncMS     float64 `json:"sync_ms"` // an append of 1 KB and its fsync, -1 when not measured
	LoadBefore string  `json:"load_before"`
	LoadAfter  string  `json:"load_after"`
	Date       string  `json:"date"`
}

func describeMachine(dir string) machine {
	return machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		FileSystem: fileSystem(dir), SyncMS: measureSync(dir), LoadBefore: process.LoadAverage(),
		Date: time.Now().Format(time.DateOnly),
	}
}

// notice is printed before anything is measured.
func (m machine) notice() string {
	load := m.LoadBefore
	if load == "" {
		load = "unknown"
	}
	s := "The machine has to be idle otherwise: runs during which other programs used more than " +
		fmt.Sprintf("%.1f", quietLimit) + " of a processor count as noisy.\nLoad average now: " + load
	if m.FileSystem == "tmpfs" {
		s += "\nThe working directory is in memory, where syncing a log costs nothing: choose another with -dir."
	}
	return s
}

// measureSync is what it costs here to make an append durable, in ms.
func measureSync(dir string) float64 {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return -1
	}
	defer f.Close()
	line := make([]byte, 1<<10)
	var took []time.Duration
	for range 30 {
		if _, err := f.Write(line); err != nil {
			return -1
		}
		start := time.Now()
		if err := f.Sync(); err != nil {
			return -1
		}
		took = append(took, time.Since(start))
	}
	return ms(stat.Median(took))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
