package muse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Usage is a sum of token counts. Input includes what was read from a cache,
// as the log reports it.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	Calls            int64 `json:"model_calls"`
}

// Add adds other to u.
func (u *Usage) Add(other Usage) {
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
	u.CacheReadTokens += other.CacheReadTokens
	u.CacheWriteTokens += other.CacheWriteTokens
	u.ReasoningTokens += other.ReasoningTokens
	u.Calls += other.Calls
}

// LogUsage is what one session log (and the logs of its children) adds up to.
type LogUsage struct {
	Log      string           `json:"session_log"` // empty when none was found
	Total    Usage            `json:"total"`       // of the session's own calls
	Children Usage            `json:"children"`    // of subagents and observers, which have logs of their own
	ByModel  map[string]Usage `json:"by_model"`    // own and children's calls; "" where the model was not named
	Quota    QuotaFacts       `json:"quota"`       // what the log says of a limit
	// Retryable is what the log says of a failed run, nil when it says nothing.
	Retryable *bool        `json:"failure_retryable"`
	Findings  []Diagnostic `json:"diagnostics,omitempty"`
}

// DataHome returns the data root of Muse Code in an environment:
// $XDG_DATA_HOME/muse, else ~/.local/share/muse, on every platform (CLI.md
// 2.1). It is empty when neither variable nor home is known.
func DataHome(getenv func(string) string) string {
	return xdgRoot(getenv, "XDG_DATA_HOME", ".local", "share")
}

// ConfigHome returns the configuration root: $XDG_CONFIG_HOME/muse, else
// ~/.config/muse.
func ConfigHome(getenv func(string) string) string {
	return xdgRoot(getenv, "XDG_CONFIG_HOME", ".config")
}

func xdgRoot(getenv func(string) string, name string, fallback ...string) string {
	if root := getenv(name); filepath.IsAbs(root) {
		return filepath.Join(root, "muse")
	}
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append(append([]string{home}, fallback...), "muse")...)
}

// ErrNoSessionLog reports that no log of a session exists.
var ErrNoSessionLog = errors.New("no session log")

// FindSessionLog finds <data>/sessions/YYYY/MM/DD/<id>/session.jsonl by
// globbing the date, so a run that spans midnight is found too (seed 001,
// token usage). Of several, the one written last is returned.
func FindSessionLog(dataHome, sessionID string) (string, error) {
	if dataHome == "" || sessionID == "" || sessionID != filepath.Base(sessionID) || sessionID[0] == '.' {
		return "", fmt.Errorf("find log of session %q under %q: %w", sessionID, dataHome, ErrNoSessionLog)
	}
	var best string
	var bestInfo os.FileInfo
	for _, day := range sessionDays(filepath.Join(dataHome, "sessions")) {
		path := filepath.Join(day, sessionID, "session.jsonl")
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // most days do not hold this session
		}
		if bestInfo == nil || !info.ModTime().Before(bestInfo.ModTime()) {
			best, bestInfo = path, info
		}
	}
	if best == "" {
		return "", fmt.Errorf("find log of session %s under %s: %w", sessionID, dataHome, ErrNoSessionLog)
	}
	return best, nil
}

// sessionDays lists <root>/YYYY/MM/DD. It reads directories itself because a
// glob would treat metacharacters in the root as patterns.
func sessionDays(root string) []string {
	dirs := []string{root}
	for _, digits := range []int{4, 2, 2} {
		var next []string
		for _, dir := range dirs {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // unreadable or absent: holds no session we can use
			}
			for _, e := range entries {
				if name := e.Name(); len(name) == digits && allDigits(name) {
					next = append(next, filepath.Join(dir, name))
				}
			}
		}
		dirs = next
	}
	slices.Sort(dirs)
	return dirs
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// UsageFilter restricts a sum to one turn of a continued session. The zero
// value takes the whole session.
type UsageFilter struct {
	// Runs are the run ids of the turn; empty means all.
	Runs []string
	// Since drops older events of child logs, whose run ids are their own.
	Since time.Time
}

// ReadUsage finds the log of a session and sums it. A missing or unreadable
// log is not an error: it gives zero usage and a diagnostic.
func ReadUsage(dataHome, sessionID string, filter UsageFilter) (u LogUsage) {
	u.ByModel = map[string]Usage{}
	var diags DiagnosticLog
	defer func() { u.Findings = diags.List() }()
	path, err := FindSessionLog(dataHome, sessionID)
	if err != nil {
		diags.Add(DiagUsage, 0, "%v", err)
		return u
	}
	u.Log = path
	sumFile(path, UsageFilter{Runs: filter.Runs}, &u, &u.Total, &diags)
	children, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(path)), "subagent", "*", "session.jsonl"))
	if err != nil {
		diags.Add(DiagUsage, 0, "list children: %v", err)
	}
	for _, child := range children {
		sumFile(child, UsageFilter{Since: filter.Since}, &LogUsage{ByModel: u.ByModel}, &u.Children, &diags)
	}
	return u
}

func escapeGlob(path string) string {
	var b bytes.Buffer
	for _, r := range path {
		if (r == '*' || r == '?' || r == '[' || r == '\\') && filepath.Separator != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func sumFile(path string, filter UsageFilter, u *LogUsage, total *Usage, diags *DiagnosticLog) {
	f, err := os.Open(path)
	if err != nil {
		diags.Add(DiagUsage, 0, "open session log: %v", err)
		return
	}
	defer f.Close()
	scan := logScan{filter: filter, diags: diags, add: func(model string, n Usage) {
		total.Add(n)
		sum := u.ByModel[model]
		sum.Add(n)
		u.ByModel[model] = sum
	}, quota: &u.Quota, retryable: &u.Retryable}
	if err := scan.read(f); err != nil {
		diags.Add(DiagUsage, 0, "read session log: %v", err)
	}
}

// usageRecord is the part of a log record that carries token counts.
type usageRecord struct {
	RetainedFrame string `json:"retained_frame"`
	Children      []struct {
		RecordJSON string `json:"record_json"`
	} `json:"children"`
	RecordedAt  int64  `json:"recorded_at"`
	PayloadType string `json:"payload_type"`
	Payload     struct {
		RunID string `json:"run_id"`
		Event struct {
			Kind string `json:"kind"`
			// Of model_completed; other events use these names for other types.
			Model     jsontext.Value `json:"model"`
			Usage     jsontext.Value `json:"usage"`
			Retryable jsontext.Value `json:"failure_retryable"`
		} `json:"event"`
	} `json:"payload"`
}

type modelUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_tokens"`
	Cached     *int64 `json:"cached_tokens"` // the older name
	CacheWrite *int64 `json:"cache_write_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
}

func (m *modelUsage) usage() Usage {
	get := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return max(0, *p)
	}
	read := m.CacheRead
	if read == nil {
		read = m.Cached
	}
	return Usage{
		InputTokens: get(m.Input), OutputTokens: get(m.Output), CacheReadTokens: get(read),
		CacheWriteTokens: get(m.CacheWrite), ReasoningTokens: get(m.Reasoning), Calls: 1,
	}
}

// maxLogLine bounds one line of a session log that is parsed for usage. Such a
// record is a few hundred bytes; longer lines hold prompts and outputs.
const maxLogLine = 1 << 20

// SumUsage calls add for each model_completed event of a session log. Other
// events, goal_usage_attribution among them, repeat these numbers and are not
// counted. Memory does not grow with the log.
func SumUsage(log io.Reader, filter UsageFilter, add func(model string, u Usage), diags *DiagnosticLog) error {
	scan := logScan{filter: filter, diags: diags, add: add, quota: &QuotaFacts{}, retryable: new(*bool)}
	return scan.read(log)
}

// logScan reads the facts of one session log.
type logScan struct {
	filter    UsageFilter
	diags     *DiagnosticLog
	add       func(model string, u Usage)
	quota     *QuotaFacts
	retryable **bool
}

func (s *logScan) read(log io.Reader) error {
	in := bufio.NewReaderSize(log, 256<<10)
	var long []byte
	for line := int64(1); ; line++ {
		part, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) < maxLogLine {
				long = append(long, part...)
			}
			part, err = in.ReadSlice('\n')
		}
		record := part
		if len(long) > 0 {
			record = append(long, part...)
			long = long[:0]
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if len(record) <= maxLogLine && hasFacts(record) {
			s.record(record, line, true)
		}
		if err != nil {
			return nil
		}
	}
}

// hasFacts picks the few lines that are worth parsing.
func hasFacts(record []byte) bool {
	for _, word := range []string{"model_completed", "quota_scope", "reset_at", "failure_retryable"} {
		if bytes.Contains(record, []byte(word)) {
			return true
		}
	}
	return false
}

func (s *logScan) record(record []byte, line int64, frames bool) {
	var r usageRecord
	if err := json.Unmarshal(record, &r); err != nil {
		s.diags.Add(DiagUsage, line, "a record of the session log could not be read: %v", err)
		return
	}
	if r.RetainedFrame != "" && frames {
		for _, child := range r.Children {
			s.record([]byte(child.RecordJSON), line, false)
		}
		return
	}
	switch f := s.filter; {
	case r.PayloadType != "runtime.session",
		len(f.Runs) > 0 && r.Payload.RunID != "" && !slices.Contains(f.Runs, r.Payload.RunID),
		!f.Since.IsZero() && r.RecordedAt < f.Since.UnixMicro():
		return
	}
	switch event := &r.Payload.Event; {
	case event.Kind == "model_completed":
		var usage *modelUsage
		if err := json.Unmarshal(event.Usage, &usage); err != nil || usage == nil {
			s.diags.Add(DiagUsage, line, "a model_completed event has no usage")
			return
		}
		var model string
		if json.Unmarshal(event.Model, &model) != nil {
			model = "" // absent in some logs: the tokens count all the same
		}
		s.add(model, usage.usage())
	case event.Kind == "terminal":
		var retryable *bool
		if json.Unmarshal(event.Retryable, &retryable) != nil {
			retryable = nil // absent, or of another type: nothing is said
		}
		*s.retryable = retryable
	case strings.Contains(event.Kind, "error"), strings.Contains(event.Kind, "retry"):
		s.quota.addJSON(record)
	}
}
