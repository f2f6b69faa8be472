package drive

import (
	"context"
	"fmt"

	"github.com/openmuse/muse/pkg/muse"
)

// qualify gathers the evidence of a direct turn: the bytes of the binary and
// of the bound schema, the raw banner and its normalized version, and checks
// the policy against it (seed 002, S1 direct profile).
func (t *turn) qualify(ctx context.Context, direct muse.Direct) error {
	in, err := muse.Inspect(ctx, t.o.Binary, t.o.Env, t.o.OutputSchema)
	if err != nil {
		return fmt.Errorf("direct profile refused: %w", err)
	}
	t.installed, t.binary.Digest = &in, in.Digest
	policy := t.o.Policy
	policy.Installed = in
	if err := policy.Check(direct, t.o.Clock.Now()); err != nil {
		return fmt.Errorf("direct profile refused: %w", err)
	}
	return nil
}

// recheck refuses a further run when the evidence no longer holds.
func (t *turn) recheck(ctx context.Context) error {
	if t.installed == nil || len(t.res.Attempts) == 0 {
		return nil
	}
	if err := t.installed.Recheck(ctx, t.o.Env); err != nil {
		return fmt.Errorf("direct profile refused: %w", err)
	}
	return nil
}

// judgeFinal holds the final text of a direct run against the bound schema. A
// zero exit and a completed terminal do not qualify it.
func (t *turn) judgeFinal(res *muse.Result) {
	if t.installed == nil || res.Class != muse.ClassCompleted {
		return
	}
	why, err := checkAnswer(t.o.OutputSchema, res.Outcome.Reply)
	if err != nil {
		why = err.Error()
	}
	if err := muse.CheckJSON(res.Outcome.Reply); err != nil {
		why = err.Error() // text around the value is no strict final
	}
	if why != "" {
		res.Class, res.Failure = muse.ClassStrict, &muse.Failure{Reason: "final text: " + why}
	}
}
