package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

const metaList = `{"object":"list","data":[
	{"id":"muse-a","object":"model","metadata":{"muse-code":{"release_date":"2026-09-01","is_hidden":false,"limit":{"context":1000000,"output":128000}}}},
	{"id":"muse-b","metadata":{"muse-code":{"is_hidden":true}}},{"id":""}]}`

// service counts the requests it gets.
type service struct {
	status int
	body   string
	paths  []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.paths = append(s.paths, r.URL.Path)
	w.WriteHeader(s.status)
	fmt.Fprint(w, s.body)
}

// setup runs the service and returns a maker of catalogues that ask it.
func setup(t *testing.T, s *service, now func() time.Time) func(Options) *Catalogue {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return func(o Options) *Catalogue {
		c, err := transport.New(transport.Options{BaseURL: server.URL + "/v1", Key: transport.Key{Value: "sk-0123456789", From: "META_API_KEY"}, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdle)
		return New(c, o)
	}
}

func TestFetchAndCache(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := &service{status: 200, body: metaList}
	open := setup(t, s, clock)
	path := filepath.Join(t.TempDir(), "model-catalog", "meta.json")
	o := Options{Meta: true, Path: path, Lifetime: time.Minute}
	want := []Model{
		{ID: "muse-a", ReleaseDate: "2026-09-01", Context: 1_000_000, Output: 128_000},
		{ID: "muse-b", Hidden: true},
	}
	first := open(o)
	for range 2 {
		got, err := first.Models(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("models = %+v, %v", got, err)
		}
	}
	if m, ok := Find(want, "muse-b"); !ok || !m.Hidden {
		t.Errorf("Find: %+v, %v", m, ok)
	}
	if _, ok := Find(want, "muse-c"); ok {
		t.Error("Find found what is not there")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("cache file: %v, %v", info, err)
	}
	now = now.Add(59 * time.Second)
	if got, err := open(o).Models(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from the file: %+v, %v", got, err)
	}
	if len(s.paths) != 1 || s.paths[0] != "/muse-code/models" {
		t.Errorf("requests: %q", s.paths)
	}
	now = now.Add(time.Second)
	if _, err := open(o).Models(t.Context()); err != nil || len(s.paths) != 2 {
		t.Errorf("after the lifetime: %v, requests %q", err, s.paths)
	}
	if _, err := first.Models(t.Context()); err != nil || len(s.paths) != 2 {
		t.Errorf("a fresh file was not read: %v, %q", err, s.paths)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
}

func TestOddCachesAreNotRead(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := &service{status: 200, body: metaList}
	open := setup(t, s, func() time.Time { return now })
	dir := t.TempDir()
	for name, text := range map[string]string{
		"garbage":       "{",
		"other version": `{"schema_version":2,"host":"HOST","fetched_at":"2026-11-30T12:00:00Z","models":[{"id":"x"}]}`,
		"other host":    `{"schema_version":1,"host":"elsewhere.test","fetched_at":"2026-11-30T12:00:00Z","models":[{"id":"x"}]}`,
		"future":        `{"schema_version":1,"host":"HOST","fetched_at":"2027-11-30T12:00:00Z","models":[{"id":"x"}]}`,
		"old":           `{"schema_version":1,"host":"HOST","fetched_at":"2026-11-30T11:00:00Z","models":[{"id":"x"}]}`,
	} {
		path := filepath.Join(dir, name)
		c := open(Options{Meta: true, Path: path})
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOST", c.client.Host())), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Models(t.Context()); err != nil || len(got) != 2 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// A cache that cannot be written is no failure.
	file := filepath.Join(dir, "garbage")
	if got, err := open(Options{Meta: true, Path: filepath.Join(file, "below")}).Models(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("unwritable: %+v, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status int
		body   string
		text   string
		class  provider.Class
	}{
		{401, `{"error":{"message":"no"}}`, "failed to fetch model catalog: authentication failed: your API key from META_API_KEY was rejected — update or unset it", provider.Authentication},
		{404, `404 page not found`, "failed to fetch model catalog: API error 404: 404 page not found", provider.InvalidRequest},
		{200, `<html>`, "failed to fetch model catalog: unreadable answer", provider.Server},
	} {
		s := &service{status: tt.status, body: tt.body}
		c := setup(t, s, func() time.Time { return now })(Options{Meta: true, Lifetime: time.Minute})
		for range 2 {
			_, err := c.Models(t.Context())
			var e *provider.Error
			if err == nil || !strings.HasPrefix(err.Error(), tt.text) || !errors.As(err, &e) || e.Class != tt.class {
				t.Errorf("%d: %v", tt.status, err)
			}
		}
		if len(s.paths) != 1 {
			t.Errorf("%d: asked %d times", tt.status, len(s.paths))
		}
		now = now.Add(time.Minute)
		s.status, s.body = 200, metaList
		if _, err := c.Models(t.Context()); err != nil {
			t.Errorf("%d: a failure outlives its lifetime: %v", tt.status, err)
		}
	}
}

func TestCancellationIsNotRemembered(t *testing.T) {
	s := &service{status: 200, body: metaList}
	c := setup(t, s, nil)(Options{Meta: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Models(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	c.Prime(t.Context())
	if got, err := c.Models(t.Context()); err != nil || len(got) != 2 || len(s.paths) != 1 {
		t.Errorf("models = %+v, %v, requests %q", got, err, s.paths)
	}
}

func TestOtherLists(t *testing.T) {
	s := &service{status: 200, body: `{"data":[{"id":"a","context_length":8192},{"id":"b","max_model_len":4096,"context_length":null},{"id":"c","max_input_tokens":200000,"max_tokens":64000},{"id":"d","context_length":"many"}]}`}
	open := setup(t, s, nil)
	want := []Model{{ID: "a", Context: 8192}, {ID: "b", Context: 4096}, {ID: "c", Context: 200_000, Output: 64_000}, {ID: "d"}}
	if got, err := open(Options{}).Models(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("models = %+v, %v", got, err)
	}
	if _, err := open(Options{At: "x/models"}).Models(t.Context()); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(s.paths) != "[/v1/models /v1/x/models]" {
		t.Errorf("requests: %q", s.paths)
	}
}
