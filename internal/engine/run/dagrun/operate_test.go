package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const cleans = "version: 1\nname: cleans\ndeadline: 1h\ntasks:\n  - {id: nap, sleep: 3h}\n  - {id: clean, needs: [nap], trigger_rule: always, command: [x]}\n"

// A paused run that is canceled, or whose deadline passes, would wait for ever to
// clean up.
func TestTheEndOfARunEndsItsPause(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*play){
		"cancel":   func(p *play) { p.do(p.g.CancelRun(p.now, "enough")) },
		"deadline": func(p *play) { p.pass(time.Hour) },
	} {
		p := start(t, cleans, dagrun.Config{})
		p.workers(worker("w", 1))
		p.do(p.g.Pause(p.now, "ann", "n"))
		end(p)
		assert.Contains(t, p.running, "clean", name)
		status := p.g.Status(p.now)
		assert.Empty(t, status.PausedBy+status.PauseNote+status.Waiting, name)
		p.ended("clean", run.Ending{})
		assert.NotNil(t, p.end, name)
		assert.NotEqual(t, dag.OutcomeCompleted, p.end.Outcome, name)
	}
}

// A run that is ending does not retry its clean-up, begun or not.
func TestCleanUpsOfARunThatEndsAreTriedOnce(t *testing.T) {
	t.Parallel()
	p := start(t, `
version: 1
name: cleans
tasks:
  - {id: nap, sleep: 3h}
  - {id: runs, command: [x], trigger_rule: always, retries: {limit: 3, backoff: 1h}}
  - {id: begins, needs: [nap], command: [x], trigger_rule: always, retries: {limit: 3, backoff: 1h}}
`, dagrun.Config{})
	p.workers(worker("w", 2))
	p.do(p.g.CancelRun(p.now, "enough"))
	for _, id := range []string{"runs", "begins"} {
		p.ended(id, run.Ending{Failure: contract.FailureFailed, Message: "no"})
		assert.Equal(t, "failed", p.state(id))
	}
	assert.NotNil(t, p.end)
}
