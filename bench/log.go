package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/internal/ident"

	"github.com/openmuse/muse/bench/biglog"
	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/service"
	"github.com/openmuse/muse/bench/subject"
)

// logReport is what reading a large session log takes. Rates are in MB (2^20
// bytes) a second.
type logReport struct {
	Written      biglog.Stats `json:"written"`
	WriteSeconds float64      `json:"write_seconds"`
	ContinueMS   *measured    `json:"continue_first_request_ms"`
	ContinueRate *measured    `json:"continue_mb_per_s"`
	ContinueMB   *measured    `json:"continue_peak_mb"`
	ContinueCPU  *measured    `json:"continue_cpu_ms"`
	FirstBody    int          `json:"first_body_bytes"`
	ReadRate     *measured    `json:"read_mb_per_s"`
	ReadMB       *measured    `json:"read_peak_mb"`
	ReadCPU      *measured    `json:"read_cpu_ms"`
}

// measureLog lets muse begin a session, makes its log large, and measures what
// going on with it takes: by muse itself, up to its first request, and by the
// journal alone.
func (b *bench) measureLog(ctx context.Context) error {
	muse := subject.Muse(b.muse)[1] // the wire that carries reasoning back
	p, err := b.place(ctx, muse, "log")
	if err != nil {
		return err
	}
	p.Session = ident.V7(time.Now())
	if _, err := b.once(ctx, muse, p, service.Work{Steps: 1}, muse.Run); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	path, err := muse.Logs.Newest(p)
	if err != nil {
		return err
	}
	if path == "" {
		return fmt.Errorf("muse left no session log below %s", muse.Logs.Dir)
	}
	r := &logReport{}
	b.report.Log = r
	if r.Written, r.WriteSeconds, err = b.extendLog(ctx, path, p.Session, b.opts.logSize); err != nil {
		return err
	}
	var alone, whole []*sample
	rates := map[*sample]float64{}
	for range min(b.opts.runs, 5) {
		s, took, err := b.readLog(ctx, path)
		if err != nil {
			return err
		}
		alone, rates[s] = append(alone, s), rate(r.Written.Bytes, took)
		if s, err = b.once(ctx, muse, p, service.Work{}, muse.Continue); err != nil {
			return fmt.Errorf("continue the session: %w", err)
		}
		whole, rates[s] = append(whole, s), rate(r.Written.Bytes, s.First)
		b.sayf("continued: %.0f ms to the first request, %.0f MB", firstMS(s), peakMB(s))
	}
	perSecond := func(s *sample) float64 { return rates[s] }
	r.ReadRate, r.ReadMB = figure(alone, perSecond), figure(alone, peakMB)
	r.ContinueRate, r.ContinueMB, r.ContinueMS = figure(whole, perSecond), figure(whole, peakMB), figure(whole, firstMS)
	r.ReadCPU, r.ContinueCPU = figure(alone, cpuMS), figure(whole, cpuMS)
	r.FirstBody = whole[0].Sizes.Body
	size := fmt.Sprintf("a log of %.1f GB", float64(r.Written.Bytes)/(1<<30))
	b.report.Budgets = []budget{
		atLeast("continue "+size+", to the first request", r.ContinueRate.Median, 300, "MB/s"),
		atMost("continue "+size+", peak memory", r.ContinueMB.Median, 200, "MB", r.ContinueMB.Noisy),
		atLeast("read "+size+" alone", r.ReadRate.Median, 300, "MB/s"),
		atMost("read "+size+" alone, peak memory", r.ReadMB.Median, 200, "MB", r.ReadMB.Noisy),
	}
	return nil
}

func rate(n int64, d time.Duration) float64 { return float64(n) / (1 << 20) / d.Seconds() }

func (b *bench) extendLog(ctx context.Context, path, session string, size int64) (biglog.Stats, float64, error) {
	b.sayf("writing a log of %d MB", size>>20)
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return biglog.Stats{}, 0, fmt.Errorf("find text for the log: %w", err)
	}
	corpus, err := biglog.Corpus(filepath.Join(string(bytes.TrimSpace(goroot)), "src"), 16<<20)
	if err != nil {
		return biglog.Stats{}, 0, fmt.Errorf("find text for the log: %w", err)
	}
	start := time.Now()
	stats, err := biglog.Extend(path, biglog.Options{
		Session: session, Provider: "openai", Model: "mock-1", Size: size, Corpus: corpus, Seed: 1,
	})
	return stats, time.Since(start).Seconds(), err
}

// readLog reads the log with the journal alone, in a process of its own.
func (b *bench) readLog(ctx context.Context, path string) (*sample, time.Duration, error) {
	b.noise.Foreign() // what happened since the last run is not this one's
	out, stderr := filepath.Join(b.root, "reading"), filepath.Join(b.root, "stderr")
	cost, err := process.Run(ctx, process.Spec{
		Args: []string{b.self, biglog.ReadArg, path}, Env: os.Environ(), Dir: b.root, Stdout: out, Stderr: stderr, Limit: 5 * time.Minute,
	})
	if err != nil {
		return nil, 0, err
	}
	if cost.Exit != 0 {
		return nil, 0, fmt.Errorf("read the log: %s", lastLines(stderr, 3))
	}
	s := &sample{Cost: cost, Foreign: -1}
	if f, ok := b.noise.Foreign(); ok {
		s.Foreign = f
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, 0, err
	}
	var reading biglog.Reading
	if err := json.Unmarshal(text, &reading); err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	return s, reading.Took, nil
}

func (r *logReport) write(w io.Writer) {
	s := r.Written
	fmt.Fprintf(w, "\nA session log of %d MB: %d records, %d turns, %d steps, %d compactions; written in %.0f s; in the page cache\n",
		s.Bytes>>20, s.Records, s.Turns, s.Steps, s.Compactions, r.WriteSeconds)
	fmt.Fprint(w, "\tMB/s\tpeak MB\tCPU ms\tms to the first request\tbytes of it\t\n")
	fmt.Fprintf(w, "muse exec --session-id\t%s\t%s\t%s\t%s\t%d\t\n", cell(r.ContinueRate, 0), cell(r.ContinueMB, 0), cell(r.ContinueCPU, 0), cell(r.ContinueMS, 0), r.FirstBody)
	fmt.Fprintf(w, "the journal alone\t%s\t%s\t%s\t\t\t\n", cell(r.ReadRate, 0), cell(r.ReadMB, 0), cell(r.ReadCPU, 0))
}
