package inspect

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter/explainer"
)

var explainedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func printed(width int, e explainer.Explanation) string {
	var out bytes.Buffer
	c := &commands{&ui.Program{Env: ui.Env{Stdout: &out, Width: width, Now: func() time.Time { return explainedAt }}}}
	c.printExplanation(e)
	return out.String()
}

func TestExplanationsFitTheTerminal(t *testing.T) {
	t.Parallel()
	e := explainer.Explanation{Kind: "run", Name: "group/scrub-1", State: "waiting", Reasons: []explain.Reason{{
		Code: contract.CodeLaneBusy, Object: "default", Of: "group/scrub-1", Since: explainedAt.Add(-3 * time.Minute),
		Detail: "held by group/vacuum-2026-03-01T11:00:00Z since 2026-03-01T11:00:02Z;\n 3 others wait, and this sentence continues for a while",
		Remedy: "wait for the holder, cancel it with `roundsman cancel`, or give the job type another lane",
	}}}
	assert.Equal(t, `run group/scrub-1: waiting

LANE_BUSY(default) for 3m
  of group/scrub-1
  held by group/vacuum-2026-03-01T11:00:00Z since 2026-03-01T11:00:02Z; 3 others
  wait, and this sentence continues for a while
  → wait for the holder, cancel it with `+"`roundsman cancel`"+`, or give the job type
    another lane
`, printed(80, e))
	assert.Contains(t, printed(0, e), "T11:00:02Z; 3 others wait, and this sentence continues for a while\n  → wait for", "in a pipe nothing is broken")
	for _, width := range []int{40, 60, 120} {
		for line := range strings.Lines(printed(width, e)) {
			long := strings.Contains(line, "vacuum") // One word is never broken.
			assert.True(t, long || runewidth.StringWidth(strings.TrimRight(line, "\n")) <= width, "%d: %s", width, line)
		}
	}
}

// TestAnExplanationNamesTheBinary, in its details, too. A command line of a user stays as it is.
func TestAnExplanationNamesTheBinary(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &commands{&ui.Program{Env: ui.Env{Stdout: &out, Now: time.Now, Own: ui.NewRenaming("acme", []string{"set", "runs"})}}}
	c.printReason(explain.Reason{Code: contract.CodePoolFull, Detail: "roundsman runs waits for 3 of pool db: `roundsman set pool/db size=3`"})
	assert.Contains(t, out.String(), "  roundsman runs waits for 3 of pool db: `acme set pool/db size=3`\n")
}

func TestChainEndsAtTheRoot(t *testing.T) {
	t.Parallel()
	e := explainer.Explanation{
		Kind: "run", Name: "group/scrub-1", State: "waiting",
		Reasons: []explain.Reason{{Code: contract.CodeLaneBusy, Object: "default", Detail: "held by group/vacuum-1"}},
		Chain: []explainer.Link{
			{Holder: explain.Holder{Run: "group/vacuum-1"}, Holds: "default", Code: contract.CodeLaneBusy, State: "waiting", Because: contract.CodeClaimHeld, Detail: "held by dag/move/a/copy"},
			{
				Holder: explain.Holder{Run: "dag/move/a", Item: "copy"}, Holds: "volume/42", Code: contract.CodeClaimHeld, State: "running", Detail: "it runs: it waits for nothing",
				Remedy: "wait, or `roundsman cancel dag/move/a/copy`",
			},
		},
	}
	assert.Equal(t, `run group/scrub-1: waiting

LANE_BUSY(default)
  held by group/vacuum-1

then: group/vacuum-1 has default (waiting): CLAIM_HELD held by dag/move/a/copy

root: dag/move/a/copy has volume/42 (running): it runs: it waits for nothing
  → wait, or `+"`roundsman cancel dag/move/a/copy`"+`
`, printed(0, e))
}

func TestCommandsInRemediesStayInOnePiece(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"first", "(`roundsman approve RUN/TASK`),", "then", "`x y`"},
		unbroken("first (`roundsman approve RUN/TASK`), then `x y`"))
}

func TestNothingToWaitFor(t *testing.T) {
	t.Parallel()
	e := explainer.Explanation{Kind: "run", Name: "group/scrub-1", State: "partial", Nothing: "it has ended: it waits for nothing"}
	assert.Equal(t, "run group/scrub-1: partial\nit has ended: it waits for nothing\n", strings.ReplaceAll(printed(80, e), "\n\n", "\n"))
}
