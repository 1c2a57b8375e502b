package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const followed = `
version: 1
name: followed
tasks:
  - {id: first, command: [x]}
  - {id: second, needs: [first], command: [x]}
  - {id: third, needs: [second], command: [x]}
`

// TestTasksHaveATimeOfCreationAndOfTheLastChange through a failure, an addition, a
// continue-as-new and a retry.
func TestTasksHaveATimeOfCreationAndOfTheLastChange(t *testing.T) {
	t.Parallel()
	p := start(t, followed, dagrun.Config{})
	begin := p.now
	at := func(task string, created, modified time.Duration) {
		t.Helper()
		v := p.view(task)
		assert.Equal(t, created, v.CreatedAt.Sub(begin), "%s was created", task)
		assert.Equal(t, modified, v.ModifiedAt.Sub(begin), "%s was modified", task)
	}
	later := func() { p.now = p.now.Add(time.Minute) }
	later()
	p.workers(worker("w", 9))
	at("first", 0, time.Minute)
	at("third", 0, 0)
	later()
	p.ended("first", run.Ending{})
	later()
	decisions, _, err := p.g.Operate(p.now, dagrun.Request{Kind: dagrun.Add, Data: []byte(`[{"id": "more", "needs": ["third"], "noop": true}]`)})
	require.NoError(t, err)
	p.do(decisions)
	at("more", 3*time.Minute, 3*time.Minute)
	later()
	p.ended("second", run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	assert.Equal(t, 4*time.Minute, p.g.Status(p.now).ModifiedAt.Sub(begin), "of the run")
	p.roll(dagrun.Config{})
	at("first", 0, 2*time.Minute)
	at("second", 0, 4*time.Minute)
	at("third", 0, 4*time.Minute)
	at("more", 3*time.Minute, 4*time.Minute)
	assert.Zero(t, p.view("third").EndedAt, "it never began")
	assert.Equal(t, 4*time.Minute, p.g.Status(p.now).ModifiedAt.Sub(begin), "of the run")
}
