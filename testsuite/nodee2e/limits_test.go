package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestFourLimits counts the running jobs in their handlers. Each limit holds, and is used to the full.
func TestFourLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const jobs, workerWide = 40, 6
	ids := []string{"node-a", "node-b"}
	for _, id := range ids {
		s.worker(id, "--max-execute", "6")
	}
	s.AwaitFresh(ids...)
	const wide = "global_execution_concurrency: 100, per_worker_execution_concurrency: 4"
	const three = "global_execution_concurrency: 3, per_worker_execution_concurrency: 3"
	s.hold("alone", "alone-capped", "alone-three")
	s.apply(
		group{"alone", "steps", wide, jobs, 2, 50},
		group{"alone-capped", "capped", wide, jobs, 2, 50},
		group{"alone-three", "steps", three, jobs, 2, 50},
		group{"one", "steps", wide, jobs, 2, 400},
		group{"two", "steps", wide, jobs, 2, 400},
		group{"handler", "capped", wide, jobs, 2, 400},
		group{"tasks", "steps", wide, 0, 2, 400},
		group{"global", "steps", three, jobs, 2, 400},
	)
	finished := func(ref starter.RunRef) {
		result := s.Result(ref)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
		assert.Equal(t, jobs, result.Counts.Completed)
		assert.Zero(t, result.Counts.Retries)
	}
	// Used to the full: no job ends before so many run, however busy the machine is.
	for name, most := range map[string]struct{ here, all int }{"alone": {4, 8}, "alone-capped": {3, 6}, "alone-three": {3, 3}} {
		ref := s.Begin(name)
		s.awaitBook(fmt.Sprintf("%d jobs of %s at once", most.all, name), func(b book) bool { return len(b.typed(name).of("start")) >= most.all })
		s.letGo()
		finished(ref)
		b := s.book().typed(name)
		assert.Equal(t, most.all, b.worst(), name)
		for _, id := range ids {
			assert.LessOrEqual(t, b.on(id).worst(), most.here, "%s on %s", name, id)
		}
		s.holdAgain()
	}

	graph := s.Start("start", "-w", s.writeDAG("graph", jobs))
	var refs []starter.RunRef
	together := []string{"one", "two", "handler", "global"}
	for _, name := range together {
		refs = append(refs, s.Begin(name))
	}
	for _, ref := range refs {
		finished(ref)
	}
	assert.Equal(t, 0, graph.Code(t, time.Minute), graph.Stderr.Last())
	b := s.book().where(func(e entry) bool { return !strings.HasPrefix(e.jobType, "alone") })
	for _, name := range together {
		assert.Len(t, b.typed(name).of("end"), jobs, name)
	}
	assert.Len(t, b.typed("tasks").of("end"), jobs, "the tasks of the DAG")
	for _, id := range ids {
		here := b.on(id)
		assert.LessOrEqual(t, here.worst(), workerWide, "--max-execute of %s", id)
		assert.LessOrEqual(t, here.typed("handler").worst(), 3, "the handler's own cap on %s", id)
		for _, name := range together {
			assert.LessOrEqual(t, here.typed(name).worst(), 4, "per worker, %s on %s", name, id)
		}
	}
	assert.LessOrEqual(t, b.typed("global").worst(), 3, "global_execution_concurrency")
	for key, n := range b.of("start").perKey() {
		assert.Equal(t, 1, n, "%s ran more than once", key)
	}
}

// TestQuickJobsAreSentAhead: a worker gets more quick jobs than it has slots for;
// it runs no more than that at once, and each job once.
func TestQuickJobsAreSentAhead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const jobs, slots = 300, 2
	ids := []string{"node-a", "node-b"}
	for _, id := range ids {
		s.worker(id, "--max-execute", strconv.Itoa(slots))
	}
	s.AwaitFresh(ids...)
	s.apply(group{"quick", "steps", "global_execution_concurrency: 20, per_worker_execution_concurrency: 10", jobs, 1, 20})
	ref := s.Begin("quick")
	ahead := 0
	testsuite.WaitFor(t, time.Minute, "the group sends ahead", func() bool {
		shown, err := s.Client.Runs().Show(t.Context(), ref)
		if err != nil || shown.Group == nil {
			return false
		}
		for _, w := range shown.Group.Workers {
			ahead = max(ahead, w.Running-w.Slots)
		}
		return ahead > 0 || shown.Result != nil
	})
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, jobs, result.Counts.Completed)
	assert.Positive(t, ahead)
	assert.LessOrEqual(t, ahead, run.MaxAhead)
	b := s.book()
	for _, id := range ids {
		assert.Equal(t, slots, b.on(id).worst(), "--max-execute of %s", id)
	}
	for key, n := range b.of("start").perKey() {
		assert.Equal(t, 1, n, "%s ran more than once", key)
	}
}

// writeDAG writes a DAG of independent tasks with the work of the groups' jobs.
func (s *site) writeDAG(name string, tasks int) string {
	s.T.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "version: 1\nname: %s\ntasks:\n", name)
	for i := range tasks {
		fmt.Fprintf(&text, "  - {id: task-%d, job_type: tasks}\n", i)
	}
	path := filepath.Join(s.Dir, name+".yaml")
	require.NoError(s.T, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}
