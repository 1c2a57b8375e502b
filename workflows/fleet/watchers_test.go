package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// The server terminates a workflow whose task completion exceeds 4 MiB. Compression may not help: labels can be noise.
func TestTheViewsOfOneWorkflowTaskFitIntoItsCompletion(t *testing.T) {
	t.Parallel()
	const watchers, workers, most = 350, 40, 4 << 20
	b := newFleetBench(t)
	b.observe()
	b.at(0, func() {
		for i := range workers {
			r := registration(fmt.Sprintf("node-%02d", i))
			r.Labels = map[string]string{"rack": strings.Repeat("x", 80)}
			b.register(r)
		}
	})
	watcher := func(i int) string { return fmt.Sprintf("group/g-%d", i) }
	b.at(time.Minute, func() {
		for i := range watchers {
			b.SignalWorkflow(contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: watcher(i)})
		}
	})
	view, before := 0, 0
	for task := 1; task <= 24; task++ {
		b.at(time.Minute+time.Duration(task)*5*time.Millisecond, func() {
			total := 0
			for i := range watchers {
				sent := b.views(watcher(i))
				total += len(sent)
				if view == 0 && len(sent) > 0 {
					text, err := json.Marshal(sent[0])
					require.NoError(t, err)
					view = len(text)
				}
			}
			assert.LessOrEqual(t, (total-before)*view, most, "bytes of task %d", task)
			before = total
			b.SetCurrentHistoryLength(task) // The next task begins.
		})
	}
	b.run(time.Minute + time.Second)
	require.Greater(t, watchers*view, most, "all views together are too large")
	for i := range watchers {
		assert.NotEmpty(t, b.views(watcher(i)), i)
	}
}
