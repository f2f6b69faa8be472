package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/service"
	"github.com/openmuse/muse/bench/subject"
	"github.com/openmuse/muse/bench/tree"
)

// searchReport is the search engine beside ripgrep, and the start in a large
// tree.
type searchReport struct {
	Ripgrep  string         `json:"ripgrep"` // version, "" when there is none
	Searches []searchResult `json:"searches"`
	Files    int            `json:"large_tree_files"`
	SmallMS  *measured      `json:"first_request_small_tree_ms"`
	LargeMS  *measured      `json:"first_request_large_tree_ms"`
}

type searchResult struct {
	Tree    string    `json:"tree"`
	Query   string    `json:"query"`
	Pattern string    `json:"pattern"`
	OursMS  *measured `json:"ours_ms"`
	TheirMS *measured `json:"ripgrep_ms,omitzero"`
	OursMB  float64   `json:"ours_peak_mb"`
	Lines   int       `json:"lines"`
	// Ratio is our wall time divided by ripgrep's.
	Ratio      float64 `json:"ratio"`
	Difference string  `json:"difference"` // in what was found, "" for none
}

func (b *bench) measureSearch(ctx context.Context) error {
	r := &searchReport{Files: b.opts.files}
	b.report.Search = r
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.sayf("ripgrep is not on PATH: the engine is measured alone")
	} else {
		out, err := exec.CommandContext(ctx, rg, "--version").Output()
		if err != nil {
			return fmt.Errorf("ripgrep: %w", err)
		}
		r.Ripgrep, _, _ = strings.Cut(string(out), "\n")
	}
	trees, err := searchTrees(ctx)
	if err != nil {
		return err
	}
	for _, t := range trees {
		for _, q := range tree.Queries() {
			b.sayf("searching %s: %s", t.name, q.Name)
			res, err := b.search(ctx, t.dir, q, rg)
			if err != nil {
				return err
			}
			res.Tree = t.name
			r.Searches = append(r.Searches, *res)
		}
	}
	if err := b.largeTree(ctx, r); err != nil {
		return err
	}
	b.report.Budgets = r.judge()
	return nil
}

type namedTree struct{ name, dir string }

// searchTrees are the sources of Go and the modules that were downloaded.
func searchTrees(ctx context.Context) ([]namedTree, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("find the trees to search: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		return nil, fmt.Errorf("find the trees to search: go env said %q", out)
	}
	return []namedTree{{"GOROOT/src", filepath.Join(lines[0], "src")}, {"module cache", lines[1]}}, nil
}

// search carries out one query with both engines in turn.
func (b *bench) search(ctx context.Context, dir string, q tree.Query, rg string) (*searchResult, error) {
	res := &searchResult{Query: q.Name, Pattern: q.Pattern}
	ours, theirs := filepath.Join(b.root, "ours"), filepath.Join(b.root, "theirs")
	var our, their []*sample
	for i := range b.opts.runs + 1 {
		s, err := b.searchRun(ctx, dir, ours, append([]string{b.self}, q.Ours(dir)...))
		if err != nil {
			return nil, err
		}
		var t *sample
		if rg != "" {
			if t, err = b.searchRun(ctx, dir, theirs, append([]string{rg}, q.Ripgrep()...)); err != nil {
				return nil, err
			}
		}
		if i == 0 {
			continue // the first one reads the tree into memory
		}
		our = append(our, s)
		if t != nil {
			their = append(their, t)
		}
	}
	res.OursMS, res.TheirMS, res.OursMB = figure(our, wallMS), figure(their, wallMS), figure(our, peakMB).Max
	found, err := tree.Places(ours)
	if err != nil {
		return nil, err
	}
	res.Lines = len(found)
	if rg == "" {
		return res, nil
	}
	res.Ratio = res.OursMS.Median / res.TheirMS.Median
	expected, err := tree.Places(theirs)
	if err != nil {
		return nil, err
	}
	res.Difference = tree.Difference(expected, found)
	return res, nil
}

func (b *bench) searchRun(ctx context.Context, dir, out string, args []string) (*sample, error) {
	b.noise.Foreign() // what happened since the last run is not this one's
	cost, err := process.Run(ctx, process.Spec{Args: args, Env: os.Environ(), Dir: dir, Stdout: out, Limit: time.Minute})
	if err != nil {
		return nil, err
	}
	if cost.Exit != 0 && (cost.Exit != 1 || args[0] == b.self) { // ripgrep's 1: nothing found
		return nil, fmt.Errorf("%s ended with exit code %d", filepath.Base(args[0]), cost.Exit)
	}
	s := &sample{Cost: cost, Foreign: -1}
	if f, ok := b.noise.Foreign(); ok {
		s.Foreign = f
	}
	return s, nil
}

// largeTree compares a start in a small repository and in a huge one.
func (b *bench) largeTree(ctx context.Context, r *searchReport) error {
	muse := subject.Muse(b.muse)[0]
	small, err := b.place(ctx, muse, "small")
	if err != nil {
		return err
	}
	large, err := b.place(ctx, muse, "large")
	if err != nil {
		return err
	}
	b.sayf("making a tree of %d files", r.Files)
	if err := tree.Make(large.Work, r.Files); err != nil {
		return err
	}
	if err := commitAll(ctx, large.Work); err != nil {
		return err
	}
	var first [2][]*sample
	for i := range b.opts.runs + 1 {
		for k, p := range []subject.Place{small, large} {
			s, err := b.once(ctx, muse, p, service.Work{Steps: 1}, muse.Run)
			if err != nil {
				return errors.Join(errors.New("start in a tree"), err)
			}
			if i > 0 {
				first[k] = append(first[k], s)
			}
		}
	}
	r.SmallMS, r.LargeMS = figure(first[0], firstMS), figure(first[1], firstMS)
	return nil
}

func (r *searchReport) judge() []budget {
	var out []budget
	if r.Ripgrep != "" {
		var worst *searchResult
		differ := 0
		noisy := false
		for i := range r.Searches {
			s := &r.Searches[i]
			if worst == nil || s.Ratio > worst.Ratio {
				worst = s
			}
			if s.Difference != "" {
				differ++
			}
			noisy = noisy || s.OursMS.Noisy || s.TheirMS.Noisy
		}
		out = append(out,
			atMost("search, wall time by ripgrep's, worst: "+worst.Query+" in "+worst.Tree, worst.Ratio, 2, "×", noisy),
			atMost("searches that found other lines", float64(differ), 0, "", false),
		)
	}
	return append(out, atMost(fmt.Sprintf("first request in a tree of %d files", r.Files), r.LargeMS.Median, 30, "ms", r.LargeMS.Noisy))
}

func (r *searchReport) write(w io.Writer) {
	version := r.Ripgrep
	if version == "" {
		version = "no ripgrep"
	}
	fmt.Fprintf(w, "\nSearch, whole processes that print every line found (wall ms; %s)\n", version)
	fmt.Fprint(w, "\tquery\tpattern\tlines\tours\tripgrep\tratio\tpeak MB\tsame lines\t\n")
	for _, s := range r.Searches {
		same := "yes"
		if r.Ripgrep == "" {
			same = "–"
		} else if s.Difference != "" {
			same = s.Difference
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%.2f\t%.0f\t%s\t\n", s.Tree, s.Query, s.Pattern, s.Lines,
			cell(s.OursMS, 0), cell(s.TheirMS, 0), s.Ratio, s.OursMB, same)
	}
	fmt.Fprintf(w, "\nFirst model request after the start (ms): in 3 files %s, in %d files %s\n", cell(r.SmallMS, 1), r.Files, cell(r.LargeMS, 1))
}
