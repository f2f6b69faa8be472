package permission_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/permission"
)

// answers is an Answerer that gives one choice each time.
type answers []string

func (a *answers) Answer(_ context.Context, q *permission.Question) (permission.Answer, error) {
	if len(*a) == 0 {
		return permission.Answer{}, errors.New("asked once too often")
	}
	id := (*a)[0]
	*a = (*a)[1:]
	return permission.Answer{ChoiceID: id, Source: permission.Source{Kind: permission.SourceUser}}, nil
}

// journal collects events.
type journal struct {
	events []permission.ApprovalEvent
	fail   string // the kind whose record fails
}

func (j *journal) record(_ context.Context, e permission.ApprovalEvent, _ permission.Call) error {
	if e.ApprovalKind() == j.fail {
		return errors.New("disk full")
	}
	j.events = append(j.events, e)
	return nil
}

func (j *journal) kinds() string {
	var out []string
	for _, e := range j.events {
		out = append(out, e.ApprovalKind())
	}
	return strings.Join(out, " ")
}

// judgeFunc is a reviewer made of a function.
type judgeFunc func(permission.JudgeRequest) (permission.Assessment, error)

func (f judgeFunc) Assess(_ context.Context, r permission.JudgeRequest) (permission.Assessment, error) {
	return f(r)
}

func authorize(t *testing.T, e *permission.Engine, a permission.Action) *permission.Decision {
	t.Helper()
	d, err := e.Authorize(t.Context(), a, permission.Call{ToolCallID: "call_1", TaskID: "task_1"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHeadlessDeniesAtOnce(t *testing.T) {
	p := newPlace(t)
	j := &journal{}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Record = j.record })
	d := authorize(t, e, &permission.ShellLine{Text: "rm x"})
	if d.Outcome != permission.Refused || d.Run != nil || d.Approval.Decision != permission.DecisionDenied || d.Approval.Source.Kind != permission.SourcePolicy {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(d.Reason, "rm removes files") && !strings.Contains(d.Reason, "removes files") {
		t.Errorf("the model is not told why: %s", d.Reason)
	}
	if j.kinds() != "requested decision_applied" {
		t.Errorf("events: %s", j.kinds())
	}
	if d := authorize(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Allowed || j.kinds() != "requested decision_applied" {
		t.Errorf("a line that passes leaves events: %s", j.kinds())
	}
}

func TestFailRun(t *testing.T) {
	p := newPlace(t)
	j := &journal{}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Answerer, c.Record = permission.FailRun{}, j.record })
	_, err := e.Authorize(t.Context(), &permission.ShellLine{Text: "rm x"}, permission.Call{})
	if !errors.Is(err, permission.ErrUnanswered) || j.kinds() != "requested decision_applied" {
		t.Errorf("%v; %s", err, j.kinds())
	}
}

func TestWaitForTimesOut(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
			c.Answerer, c.Record = permission.WaitFor{Timeout: time.Hour}, j.record
		})
		start := time.Now()
		d := authorize(t, e, &permission.ShellLine{Text: "rm x"})
		if d.Outcome != permission.Refused || d.Approval.Decision != permission.DecisionTimedOut || time.Since(start) != time.Hour {
			t.Errorf("%+v after %s", d.Approval, time.Since(start))
		}
		applied, ok := j.events[1].(*permission.DecisionApplied)
		if !ok || applied.Decision != "timedOut" || applied.PolicyResult != "deny" {
			t.Errorf("%+v", j.events[1])
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	j := &journal{}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
		c.Record = j.record
		c.Answerer = answererFunc(func(ctx context.Context) (permission.Answer, error) {
			cancel()
			<-ctx.Done()
			return permission.Answer{}, ctx.Err()
		})
	})
	d, err := e.Authorize(ctx, &permission.ShellLine{Text: "rm x"}, permission.Call{})
	if !errors.Is(err, context.Canceled) || d != nil || j.kinds() != "requested decision_applied" {
		t.Errorf("%v %v %s", d, err, j.kinds())
	}
}

type answererFunc func(context.Context) (permission.Answer, error)

func (f answererFunc) Answer(ctx context.Context, _ *permission.Question) (permission.Answer, error) {
	return f(ctx)
}

func TestAnswers(t *testing.T) {
	p := newPlace(t)
	var kept []permission.Rule
	with := func(ids ...string) (*permission.Engine, *journal) {
		j := &journal{}
		a := answers(ids)
		return p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
			c.Answerer, c.Record = &a, j.record
			c.Remember = func(_ context.Context, r permission.Rule) error { kept = append(kept, r); return nil }
		}), j
	}
	push := &permission.ShellLine{Text: "git push"}

	t.Run("once is once", func(t *testing.T) {
		e, _ := with(permission.AllowOnce, permission.Abort)
		if d := authorize(t, e, push); d.Outcome != permission.Allowed || d.Run.Redeem("git push", p.ws, nil) != nil {
			t.Errorf("%+v", d)
		}
		if d := authorize(t, e, push); d.Outcome != permission.Refused {
			t.Error("the same line runs a second time unasked")
		}
	})
	t.Run("session is this line", func(t *testing.T) {
		e, _ := with(permission.AllowSession, permission.Abort, permission.Abort)
		authorize(t, e, push)
		if d := authorize(t, e, push); d.Outcome != permission.Allowed {
			t.Error("the line asks again")
		}
		if d := authorize(t, e, &permission.ShellLine{Text: "git push --force"}); d.Outcome != permission.Refused {
			t.Error("another line runs unasked")
		}
		if d := authorize(t, e, &permission.ShellLine{Text: "git push", Dir: "sub"}); d.Outcome != permission.Refused {
			t.Error("the line runs unasked in another directory")
		}
	})
	t.Run("always is a prefix, and later stages still ask", func(t *testing.T) {
		kept = nil
		e, j := with(permission.AllowAlways, permission.Abort)
		line := &permission.ShellLine{Text: "git push origin main && rm x"}
		d := authorize(t, e, line)
		if d.Outcome != permission.Refused || j.kinds() != "requested requirement_decided decision_applied" {
			t.Errorf("%s: %s", d.Outcome, j.kinds())
		}
		if len(kept) != 1 || strings.Join(kept[0].Prefix, " ") != "git push" || kept[0].Exact || kept[0].Scope != permission.ScopeLocal {
			t.Errorf("%+v", kept)
		}
		if d := authorize(t, e, &permission.ShellLine{Text: "git push --tags"}); d.Outcome != permission.Allowed || d.Approval != nil {
			t.Errorf("the rule does not hold: %s", d.Reason)
		}
	})
	t.Run("a choice that is not on the menu", func(t *testing.T) {
		e, _ := with("allow_everything")
		if _, err := e.Authorize(t.Context(), push, permission.Call{}); !errors.Is(err, permission.ErrStale) {
			t.Errorf("%v", err)
		}
	})
	t.Run("an answer after permissions changed", func(t *testing.T) {
		e, _ := with()
		d := decide(t, e, push)
		if err := e.AddRule(permission.Rule{Prefix: []string{"x"}, Effect: permission.Deny}); err != nil {
			t.Fatal(err)
		}
		if err := e.Apply(t.Context(), d, permission.Answer{ChoiceID: permission.AllowOnce, Source: permission.Source{Kind: permission.SourceUser}}, permission.Call{}); err != nil {
			t.Fatal(err)
		}
		if d.Outcome != permission.Refused {
			t.Error("an out of date answer counts")
		}
	})
	t.Run("leaving the sandbox counts once", func(t *testing.T) {
		e, _ := with(permission.AllowOnce)
		d := authorize(t, e, &permission.ShellLine{Text: "ls", Escalated: true})
		if d.Outcome != permission.Allowed || !d.Run.Unsandboxed {
			t.Errorf("%+v", d)
		}
		if d := decide(t, e, &permission.ShellLine{Text: "ls", Escalated: true}); len(d.Choices) != 2 {
			t.Errorf("choices: %+v", d.Choices)
		}
		if d := decide(t, e, &permission.ShellLine{Text: "ls"}); d.Run.Unsandboxed {
			t.Error("the next command runs without the sandbox")
		}
	})
	t.Run("a connection", func(t *testing.T) {
		e, j := with(permission.AllowSession)
		target := &permission.NetworkTarget{Host: "registry.example.org", Port: 443, Protocol: "https", URL: "https://registry.example.org/pkg"}
		authorize(t, e, target)
		if d := authorize(t, e, target); d.Outcome != permission.Allowed || len(j.events) != 2 {
			t.Errorf("%s; %s", d.Outcome, j.kinds())
		}
		if d := decide(t, e, &permission.NetworkTarget{Host: "registry.example.org", Port: 80, Protocol: "http"}); d.Outcome != permission.Held {
			t.Error("another port is open")
		}
	})
	t.Run("a file", func(t *testing.T) {
		e, _ := with(permission.AllowSession)
		read := &permission.FileRead{Path: p.home + "/notes.txt"}
		authorize(t, e, read)
		if d := decide(t, e, read); d.Outcome != permission.Allowed {
			t.Error("the file asks again")
		}
		if d := decide(t, e, &permission.FileRead{Path: p.home + "/other.txt"}); d.Outcome != permission.Held {
			t.Error("another file is open")
		}
	})
}

// TestOffers: what may be kept, and what never.
func TestOffers(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, func(c *permission.Config) {
		c.Remember = func(context.Context, permission.Rule) error { return nil }
	})
	for line, want := range map[string]string{
		"git push --force":            "git push",
		"npm publish":                 "npm publish",
		"npm test":                    "npm test",
		"go test ./...":               "go test",
		"rm -rf dist":                 "rm -rf dist — this command only",
		"eslint src":                  "eslint …",
		"gh pr create":                "gh pr create …",
		"python3 -c x":                "",
		"python3 a.py":                "",
		"bash a.sh":                   "",
		"npx cowsay":                  "",
		"git -C sub push":             "",
		"env -C sub make":             "",
		"sudo ls":                     "",
		"xargs rm":                    "",
		"find . -delete":              "",
		"rm $X":                       "",
		"FOO=1 npm test":              "",
		"npm test > /etc/x":           "",
		"./run.sh":                    "",
		"watch ls":                    "",
		"poetry run x":                "",
		"cat ~/.ssh/id_rsa":           "",
		"(git push)":                  "",
		"awk 'BEGIN{system(\"id\")}'": "",
		"sed -n 'e id' f":             "",
	} {
		got := ""
		for _, c := range decide(t, e, &permission.ShellLine{Text: line}).Choices {
			if c.Scope == permission.LocalPersistent {
				got = c.Preview
			}
		}
		if want == "" && got != "" || want != "" && !strings.HasPrefix(got, want) {
			t.Errorf("%s: offers %q, want %q", line, got, want)
		}
	}
	var preview string
	for _, c := range decide(t, e, &permission.ShellLine{Text: "git push origin main"}).Choices {
		if c.Scope == permission.LocalPersistent {
			preview = c.Preview
		}
	}
	if !strings.Contains(preview, "git push --force") {
		t.Errorf("the preview does not say what else would pass: %s", preview)
	}
}

func TestReviewer(t *testing.T) {
	p := newPlace(t)
	good := permission.Assessment{Outcome: permission.OutcomeAllow, Rationale: "asked for", RiskLevel: "low", UserAuthorization: "explicit"}
	for _, tt := range []struct {
		name    string
		assess  permission.Assessment
		err     error
		want    permission.Outcome
		status  string
		outcome string
	}{
		{"allows", good, nil, permission.Allowed, "completed", "allow"},
		{"escalates", permission.Assessment{Outcome: "escalate", RiskLevel: "high", UserAuthorization: "none"}, nil, permission.Refused, "completed", "escalate"},
		{"fails", permission.Assessment{}, errors.New("no model"), permission.Refused, "failed", "escalate"},
		{"times out", permission.Assessment{}, context.DeadlineExceeded, permission.Refused, "timed_out", "escalate"},
		{"says something else", permission.Assessment{Outcome: "allow!", RiskLevel: "low", UserAuthorization: "none"}, nil, permission.Refused, "failed", "escalate"},
		{"denies, which it may not", permission.Assessment{Outcome: "deny", RiskLevel: "low", UserAuthorization: "none"}, nil, permission.Refused, "failed", "escalate"},
		{"allows a critical risk", permission.Assessment{Outcome: "allow", RiskLevel: "critical", UserAuthorization: "explicit"}, nil, permission.Refused, "failed", "escalate"},
		{"allows a high risk nobody asked for", permission.Assessment{Outcome: "allow", RiskLevel: "high", UserAuthorization: "implied"}, nil, permission.Refused, "failed", "escalate"},
		{"names no risk", permission.Assessment{Outcome: "allow"}, nil, permission.Refused, "failed", "escalate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &journal{}
			var seen permission.JudgeRequest
			e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
				c.Reviewer, c.Record = permission.ReviewerAuto, j.record
				c.UserMessages = func() []string { return []string{"push it"} }
				c.Judge = judgeFunc(func(r permission.JudgeRequest) (permission.Assessment, error) { seen = r; return tt.assess, tt.err })
			})
			d := authorize(t, e, &permission.ShellLine{Text: "git push"})
			if d.Outcome != tt.want {
				t.Errorf("%s: %s", d.Outcome, d.Reason)
			}
			if j.kinds() != "requested automated_review_started automated_review_completed decision_applied" {
				t.Fatal(j.kinds())
			}
			done := j.events[2].(*permission.ReviewCompleted)
			if done.Status != tt.status || done.Assessment.Outcome != tt.outcome || done.ReviewID != seen.ReviewID {
				t.Errorf("%+v %+v", done, done.Assessment)
			}
			start := j.events[1].(*permission.ReviewStarted)
			if start.ReviewerRolloutID != seen.RolloutID || start.ExactAction.Command != "git push" {
				t.Errorf("%+v", start)
			}
			applied := j.events[3].(*permission.DecisionApplied)
			if tt.want == permission.Allowed && (applied.DecisionSource.Kind != "llm_judge" || applied.DecisionSource.ReviewID != seen.ReviewID || applied.Decision != "approved" || applied.PolicyResult != "allow") {
				t.Errorf("%+v", applied)
			}
			if g := seen.Grant; !g.Within(e.Grant()) || g.AllowsShell() || g.MayWrite() || g.AllowsTool("bash") || !e.Grant().AllowsTool("bash") {
				t.Errorf("the reviewer may %+v", g)
			}
			if seen.UserMessages[0] != "push it" || len(seen.Decision.Line.Stages) != 1 {
				t.Errorf("the reviewer saw %+v", seen)
			}
		})
	}
	t.Run("is not asked about what only a person may answer", func(t *testing.T) {
		e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
			c.Reviewer = permission.ReviewerAuto
			c.Judge = judgeFunc(func(permission.JudgeRequest) (permission.Assessment, error) {
				t.Error("asked")
				return good, nil
			})
		})
		for _, a := range []permission.Action{
			&permission.ShellLine{Text: "ls", Escalated: true},
			&permission.FileWrite{Path: ".git/config"},
			&permission.NetworkTarget{Host: "169.254.169.254", Port: 80, Protocol: "http"},
		} {
			if d := authorize(t, e, a); d.Outcome != permission.Refused {
				t.Errorf("%s: %s", permission.Show(a), d.Outcome)
			}
		}
	})
	t.Run("cannot pass a deny rule", func(t *testing.T) {
		e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
			c.Rules = permission.Rules{{Prefix: []string{"git", "push"}, Effect: permission.Deny}}
			c.Reviewer = permission.ReviewerAuto
			c.Judge = judgeFunc(func(permission.JudgeRequest) (permission.Assessment, error) { return good, nil })
		})
		if d := authorize(t, e, &permission.ShellLine{Text: "git push"}); d.Outcome != permission.Refused {
			t.Error(d.Outcome)
		}
	})
	t.Run("is needed where a profile asks for it", func(t *testing.T) {
		if _, err := permission.New(permission.Config{Workspace: "/w", Lexical: true, Reviewer: permission.ReviewerAuto}); err == nil {
			t.Error("automated review without a reviewer")
		}
	})
}

// TestNothingRunsUnrecorded: where an event cannot be written the action does
// not happen.
func TestNothingRunsUnrecorded(t *testing.T) {
	p := newPlace(t)
	for _, kind := range []string{"requested", "automated_review_started", "automated_review_completed", "decision_applied"} {
		j := &journal{fail: kind}
		a := answers{permission.AllowOnce}
		e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
			c.Record, c.Answerer, c.Reviewer = j.record, &a, permission.ReviewerAuto
			c.Judge = judgeFunc(func(permission.JudgeRequest) (permission.Assessment, error) {
				return permission.Assessment{Outcome: "escalate", RiskLevel: "low", UserAuthorization: "none"}, nil
			})
		})
		d, err := e.Authorize(t.Context(), &permission.ShellLine{Text: "rm x"}, permission.Call{})
		if !errors.Is(err, permission.ErrNotRecorded) || d != nil {
			t.Errorf("%s: %v %v", kind, d, err)
		}
	}
}

// modelRun is a model that answers with fixed arguments.
type modelRun struct {
	reply permission.ModelReply
	err   error
	got   permission.ModelRequest
}

func (m *modelRun) RunReview(_ context.Context, r permission.ModelRequest) (permission.ModelReply, error) {
	m.got = r
	return m.reply, m.err
}

func TestModelJudge(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{}, nil)
	d := decide(t, e, &permission.ShellLine{Text: "ls && git push"})
	request := permission.JudgeRequest{RolloutID: "r1", Decision: d, Call: permission.Call{ToolName: "bash"}, UserMessages: []string{"push"}}
	for args, ok := range map[string]bool{
		`{"outcome":"allow","rationale":"x","risk_level":"low","user_authorization":"explicit"}`:                true,
		`{"outcome":"escalate","rationale":"x","risk_level":"low","user_authorization":"none"}`:                 true,
		`{"outcome":"allow","rationale":"x","risk_level":"low","user_authorization":"explicit","and":"run it"}`: false,
		`{"outcome":"allow","outcome":"escalate"}`:                                                              false,
		`{"outcome":"yes","rationale":"x","risk_level":"low","user_authorization":"explicit"}`:                  false,
		`{}`:    false,
		`allow`: false,
	} {
		run := &modelRun{reply: permission.ModelReply{Tool: permission.AssessmentTool, Args: jsontext.Value(args)}}
		_, err := permission.ModelJudge{Run: run}.Assess(t.Context(), request)
		if (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
		var doc struct {
			Kind   string `json:"kind"`
			Stages []struct{ Command, Class, Verdict string }
			Held   int      `json:"held_stage"`
			Words  []string `json:"user_messages"`
		}
		if err := json.Unmarshal([]byte(run.got.Prompt), &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if doc.Kind != "approval_review_context" || len(doc.Stages) != 2 || doc.Stages[1].Command != "git push" || doc.Stages[1].Class != "dangerous" || doc.Held != 1 || doc.Words[0] != "push" {
			t.Errorf("the model is shown %s", run.got.Prompt)
		}
	}
	run := &modelRun{reply: permission.ModelReply{Tool: "bash", Args: jsontext.Value(`{}`)}}
	if _, err := (permission.ModelJudge{Run: run}).Assess(t.Context(), request); err == nil {
		t.Error("another tool was taken for an assessment")
	}
	if _, err := (permission.ModelJudge{Run: &modelRun{err: errors.New("down")}}).Assess(t.Context(), request); err == nil {
		t.Error("a failed run was taken for an assessment")
	}
}

// TestApprovalEvents holds the recorded shapes (seed 000, Approval events and
// sample fixture).
func TestApprovalEvents(t *testing.T) {
	p := newPlace(t)
	j := &journal{}
	a := answers{permission.AllowOnce}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Record, c.Answerer = j.record, &a })
	call := permission.Call{
		ToolCallID: "call_02", ToolName: "network", TaskID: "task-2",
		RunStream: &permission.StreamRef{Kind: "run", ID: "r"}, SessionStream: &permission.StreamRef{Kind: "session", ID: "s"},
	}
	target := &permission.NetworkTarget{Host: "registry.example.org", Port: 443, Protocol: "https", URL: "https://registry.example.org/pkg"}
	if _, err := e.Authorize(t.Context(), target, call); err != nil {
		t.Fatal(err)
	}
	var req, applied map[string]any
	for i, dst := range []*map[string]any{&req, &applied} {
		fields, err := permission.ApprovalFields(j.events[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(fields, dst); err != nil {
			t.Fatal(err)
		}
	}
	subject := req["approval_subject"].(map[string]any)
	network := subject["network"].(map[string]any)
	origin := subject["origin"].(map[string]any)
	if subject["kind"] != "tool_action" || subject["tool_name"] != "network" || network["host"] != "registry.example.org" || network["port"] != 443.0 ||
		network["protocol"] != "https" || origin["kind"] != "url" || origin["url"] != "https://registry.example.org/pkg" {
		t.Errorf("%v", subject)
	}
	if req["kind"] != "requested" || req["raw_args"] != "https registry.example.org:443" || req["tool_call_id"] != "call_02" || req["task_id"] != "task-2" || req["pending_action_id"] == "" {
		t.Errorf("%v", req)
	}
	for _, key := range []string{"available_choices", "run_stream", "session_stream", "presentation_phase"} {
		if _, ok := req[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	if applied["kind"] != "decision_applied" || applied["decision"] != "approved" || applied["policy_result"] != "allow" || applied["pending_action_id"] != req["pending_action_id"] {
		t.Errorf("%v", applied)
	}
	if v, ok := applied["amendment"]; !ok || v != nil {
		t.Errorf("amendment is %v, not null", v)
	}
	if permission.ApprovalVersion != 3 {
		t.Error("payload version")
	}
}
