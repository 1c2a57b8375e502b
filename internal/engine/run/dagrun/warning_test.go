package dagrun_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

func TestATaskWithAWarningIsCompletedForOthers(t *testing.T) {
	t.Parallel()
	text := "version: 1\nname: two\ntasks:\n  - {id: a, command: [x]}\n  - {id: b, command: [y], needs: [a]}\n"
	p := start(t, text, dagrun.Config{})
	p.workers(worker("w", 1))
	p.ended("a", run.Ending{Warning: "restic exited with status 3"})
	require.Contains(t, p.running, "b")
	p.ended("b", run.Ending{})
	assert.Equal(t, dag.OutcomeCompleted, p.end.Outcome)
	want := map[string]int{"completed": 1, contract.JobWarning: 1}
	assert.Equal(t, want, p.g.Counts())

	data, err := p.g.Snapshot()
	require.NoError(t, err)
	left, err := dagrun.Read(compile(t, text), data)
	require.NoError(t, err)
	assert.Equal(t, want, left.Counts())
	tasks, total := left.Tasks(dagrun.Filter{States: []string{contract.JobWarning}, Limit: 10})
	require.Equal(t, 1, total)
	assert.Equal(t, "a", tasks[0].ID)
	assert.Equal(t, contract.JobWarning, tasks[0].Name)
	assert.Equal(t, "restic exited with status 3", tasks[0].Error)
	_, total = left.Tasks(dagrun.Filter{States: []string{"completed"}, Limit: 10})
	assert.Equal(t, 1, total)
}

// TestWarningsLeaveRoomForFailures: the messages that a run keeps are bounded; a failure after many warnings
// still has its own.
func TestWarningsLeaveRoomForFailures(t *testing.T) {
	t.Parallel()
	const tasks = 400
	text := "version: 1\nname: many\nconcurrency: 500\ntasks:\n  - {id: bad, command: [x]}\n  - {id: a, command: [x], for_each: ["
	for i := range tasks {
		text += fmt.Sprintf("%d,", i)
	}
	p := start(t, strings.TrimSuffix(text, ",")+"]}\n", dagrun.Config{})
	p.workers(worker("w", tasks+1))
	for i := range tasks {
		p.ended(fmt.Sprintf("a.%d", i), run.Ending{Warning: strings.Repeat("some files vanished ", 30)})
	}
	p.ended("bad", run.Ending{Failure: contract.FailurePermanent, Message: "no space left"})
	assert.Equal(t, map[string]int{"failed": 1, contract.JobWarning: tasks}, p.g.Counts())
	failed, _ := p.g.Tasks(dagrun.Filter{States: []string{"failed"}, Limit: 1})
	require.Len(t, failed, 1)
	assert.Equal(t, "no space left", failed[0].Error)
}
