package muse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// recorded is a cut-down stream; real ones have more records.
const recorded = `{"schema_version":1,"id":"018f0000-0000-7000-8000-00000000c350","stream":{"kind":"session","id":"6fbeab95-439f-4d74-878c-debcd879c148"},"sequence":1,"recorded_at":1780531400000000,"record_type":"event","durability":"durable","causation_id":"r1","payload_type":"run.model.configured","payload_schema_version":1,"payload":{"command_id":"r1","kind":"run_model_configured","model_id":"muse-spark-1.3","provider_id":"meta"}}
{"schema_version":1,"id":"018f0000-0000-7000-8000-00000000c351","stream":{"kind":"session","id":"6fbeab95-439f-4d74-878c-debcd879c148"},"sequence":2,"recorded_at":1780531400000001,"record_type":"event","durability":"durable","causation_id":"r1","payload_type":"tool.result","payload_schema_version":1,"payload":{"call_id":"call_1","command_id":"r1","correlation_facts":{"outcome":"success","tool_name":"edit_file"},"edit_facts":{"added":2,"path":"tally.go","tool_name":"edit_file"},"kind":"tool_result","text":"edited"}}
{"schema_version":1,"id":"018f0000-0000-7000-8000-00000000c352","stream":{"kind":"session","id":"6fbeab95-439f-4d74-878c-debcd879c148"},"sequence":3,"recorded_at":1780531400000002,"record_type":"status","durability":"ephemeral","causation_id":"r1","payload_type":"run.output.delta","payload_schema_version":1,"payload":{"command_id":"r1","kind":"run_output_delta","text":"Fix"}}
{"schema_version":1,"id":"018f0000-0000-7000-8000-00000000c353","stream":{"kind":"session","id":"6fbeab95-439f-4d74-878c-debcd879c148"},"sequence":4,"recorded_at":1780531400000003,"record_type":"event","durability":"durable","causation_id":"r1","payload_type":"run.terminal.completed","payload_schema_version":1,"payload":{"command_id":"r1","kind":"run_terminal","reason":null,"terminal":"completed","text":"Fixed."}}
`

// A reader hands out typed records; what it does not know is skipped with a
// diagnostic.
func ExampleReader() {
	r := muse.NewReader(strings.NewReader(recorded+"some noise\n"), muse.ReaderOptions{})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		switch p := e.Payload.(type) {
		case *muse.ModelConfigured:
			fmt.Println("model:", p.ModelID)
		case *muse.OutputDelta:
			fmt.Printf("fragment: %q\n", p.Text)
		case *muse.Terminal:
			fmt.Printf("%s: %q\n", p.Terminal, *p.Text)
		}
	}
	for _, d := range r.Diagnostics().List() {
		fmt.Println(d)
	}
	// Output:
	// model: muse-spark-1.3
	// fragment: "Fix"
	// completed: "Fixed."
	// not_json (line 5): invalid JSON: some noise
}

// A collector folds a stream into its outcome.
func ExampleCollector() {
	r := muse.NewReader(strings.NewReader(recorded), muse.ReaderOptions{})
	c := muse.NewCollector(r.Diagnostics(), muse.CollectorOptions{
		OnToolCall: func(t muse.ToolCall) { fmt.Println(t.Display, t.Target, t.Status) },
	})
	for e, err := range r.All() {
		if err != nil {
			log.Fatal(err)
		}
		c.Observe(e, time.Now())
	}
	o := c.Finish(r, time.Now())
	fmt.Println(o.Reply, *o.Settled, muse.Classify(muse.Exit{Code: 0}, o))
	// Output:
	// Edit tally.go success
	// Fixed. true completed
}

// Strict reading rejects a stream with anything wrong in it.
func ExampleReadStrict() {
	o, err := muse.ReadStrict(strings.NewReader(recorded), muse.ReaderOptions{})
	fmt.Println(o.Reply, err)
	_, err = muse.ReadStrict(strings.NewReader(strings.Replace(recorded, `"payload":{`, `"payload":{"kind":1,"kind":2,`, 1)), muse.ReaderOptions{})
	fmt.Println(err != nil)
	// Output:
	// Fixed. <nil>
	// true
}

// The supervised profile is one unattended turn; pass-through arguments win
// over its own flags.
func ExampleSupervised() {
	inv, err := muse.Supervised{Model: "muse-spark-1.3", Extra: []string{"--enable-shell-tool", "--max-model-steps=20"}}.Build(muse.Job{
		Workspace: "/src/tally", SessionID: "6fbeab95-439f-4d74-878c-debcd879c148", PromptFile: "/tmp/p.md",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(inv.Args, "\n"))
	fmt.Println(inv.Env, inv.Skipped)
	// Output:
	// exec
	// --json
	// --workspace
	// /src/tally
	// --model
	// muse-spark-1.3
	// --trust-workspace
	// --disable-approval
	// --disable-sandbox
	// --user-input-auto-resolve
	// --no-foreign-personal-context
	// --session-id
	// 6fbeab95-439f-4d74-878c-debcd879c148
	// --prompt-file
	// /tmp/p.md
	// --enable-shell-tool
	// --max-model-steps=20
	// [MUSE_NO_AUTO_UPDATE=1] [--enable-shell-tool]
}

// Tiers never reach a contributor model; naming one gives an advisory.
func ExampleAliases_Resolve() {
	for _, name := range []string{"large", "spark", "spark-contributor"} {
		sel, err := muse.DefaultAliases().Resolve(name)
		fmt.Println(sel.Model, sel.Via, sel.Advisory != "", err)
	}
	// Output:
	// muse-wonder-1.0 tier false <nil>
	// muse-spark-1.3 alias false <nil>
	// muse-spark-1.3-contributor alias true <nil>
}

// Facts of a 429 are read from what the provider said; what it did not say
// stays unknown.
func ExampleQuotaFacts() {
	var q muse.QuotaFacts
	q.AddReason("API error 429: rate limit reached, resets at 2026-11-30T18:00:00Z")
	wait, known := q.Wait(time.Date(2026, 11, 30, 17, 30, 0, 0, time.UTC))
	fmt.Println(q.RateLimited, q.Scope == nil, wait, known)
	// Output:
	// true true 30m0s true
}

// The raw banner and the release are kept apart: a range matches the latter.
func ExampleParseBanner() {
	b, err := muse.ParseBanner("Muse Code 1.4.4 (1.4.4-R5419.1)\n")
	fmt.Printf("%q %s %s %v\n", b.Raw, b.Level, b.Release, err)
	// Output:
	// "Muse Code 1.4.4 (1.4.4-R5419.1)" 1.4.4 1.4.4-R5419.1 <nil>
}

// Run does everything for one prompt: private prompt file, process group,
// stream, usage, verdict.
func ExampleRun() {
	bin, _, err := muse.FindBinary("", "", os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	workspace, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	res, err := muse.Run(ctx, muse.RunOptions{
		Binary: bin, Profile: muse.Supervised{Model: "muse-spark-1.3"}, Workspace: workspace, Prompt: "fix the failing test",
		OnDelta: func(_, text string) { fmt.Print(text) },
	})
	if err != nil {
		log.Fatal(err) // it could not be started
	}
	switch res.Class {
	case muse.ClassCompleted:
		fmt.Println(res.Outcome.Reply, res.Usage.Total.OutputTokens)
	case muse.ClassUsage:
		fmt.Println("the command line was refused:", res.Failure.Reason)
	default:
		fmt.Println(res.Class, res.Failure.Reason, res.Failure.Transient)
	}
}
