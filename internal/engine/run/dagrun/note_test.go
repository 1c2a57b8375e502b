package dagrun_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// noted lists the notes since its last call, one line each.
func (p *play) noted() []string {
	var list []string
	for _, n := range p.g.Notes() {
		line := fmt.Sprintf("%s %s", n.Verdict, n.Code)
		if n.Item >= 0 {
			line += " " + p.g.Run().ID(dag.Index(n.Item))
		}
		if n.Waited > 0 {
			line += " " + n.Waited.String()
		}
		list = append(list, line)
	}
	return list
}

func TestWhatIsDelayedIsNoted(t *testing.T) {
	t.Parallel()
	p := start(t, `version: 1
name: noted
deadline: 1h
tasks:
  - {id: a, command: [x], retries: {limit: 1, backoff: 7s}}
  - {id: b, command: [x], node: b}
  - {id: c, command: [x], resources: {db: 1}}
`, dagrun.Config{})
	p.workers(worker("a", 4))
	p.ended("a", run.Ending{Failure: contract.FailureFailed, Message: "not yet"})
	assert.Equal(t, []string{"delayed RETRY_BACKOFF_UNTIL a 7s"}, p.noted())
	p.pass(5 * time.Second)
	p.workers(worker("a", 4), worker("b", 1))
	assert.Equal(t, []string{"delayed NO_WORKER b 5s"}, p.noted())
	require.Len(t, p.asks, 1)
	p.do(p.grantedOf("c", p.asks[0].Ask))
	assert.Equal(t, []string{"delayed RESOURCES_PENDING c 5s"}, p.noted())
	p.ended("b", run.Ending{Failure: contract.FailureAtCapacity, Message: "full"})
	assert.Equal(t, []string{"delayed AT_CAPACITY b"}, p.noted())
	p.ended("c", run.Ending{Failure: contract.FailureWorkerLost, Message: "gone"})
	p.pass(run.Grace)
	assert.Contains(t, p.noted(), "replaced WORKER_LOST c")
	p.pass(time.Hour)
	assert.Equal(t, []string{"ended DEADLINE"}, p.noted())
}

func TestNothingIsNotedOfACleanRun(t *testing.T) {
	t.Parallel()
	p := start(t, one+"{id: a, command: [x]}\n", dagrun.Config{})
	p.workers(worker("a", 4))
	p.ended("a", run.Ending{})
	assert.NotNil(t, p.end)
	assert.Empty(t, p.noted())
}
