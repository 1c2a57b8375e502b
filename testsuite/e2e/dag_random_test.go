package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// applyTally applies job type tally.
func applyTally(t testing.TB, c *starter.Client) {
	t.Helper()
	tallySpec := contract.JobTypeSpec{
		Name: "tally", Handler: "tally", Policy: jobtype.Policy{CatchupWindow: jobtype.Duration(time.Minute)}.WithDefaults(),
		Schedule: contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, Hash: "tally",
	}
	plan, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{tallySpec}, map[string]bool{"tally": false})
	require.NoError(t, err)
	_, err = jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
}

// planned is one task of a random DAG and its planned outcome.
type planned struct {
	id    string
	needs []string
	rule  string
	does  string // noop, tally, fail, flaky, false: its condition is
}

func randomDAG(random *rand.Rand, n int) []planned {
	tasks := make([]planned, n)
	for i := range tasks {
		tasks[i] = planned{id: fmt.Sprintf("t%02d", i), rule: "all_success", does: "noop"}
		for range random.IntN(4) {
			if i > 0 {
				tasks[i].needs = append(tasks[i].needs, tasks[random.IntN(i)].id)
			}
		}
		slices.Sort(tasks[i].needs)
		tasks[i].needs = slices.Compact(tasks[i].needs)
		if len(tasks[i].needs) > 0 {
			tasks[i].rule = []string{"all_success", "all_success", "all_success", "all_done", "one_failed", "always"}[random.IntN(6)]
		}
		tasks[i].does = []string{"noop", "noop", "tally", "fail", "flaky", "false"}[random.IntN(6)]
	}
	return tasks
}

// yaml writes the tasks as a spec.
func yaml(name string, tasks []planned) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: %s\nconcurrency: 4\ntasks:\n", name)
	for _, t := range tasks {
		fmt.Fprintf(&b, "  - {id: %s, needs: [%s], trigger_rule: %s, ", t.id, strings.Join(t.needs, ", "), t.rule)
		switch t.does {
		case "noop":
			b.WriteString("noop: true}\n")
		case "tally":
			b.WriteString("job_type: tally}\n")
		case "fail":
			b.WriteString("job_type: tally, params: {fails: 9}}\n")
		case "flaky":
			b.WriteString("job_type: tally, params: {fails: 1}, retries: {limit: 2, backoff: 1ms}}\n")
		case "false":
			b.WriteString("noop: true, when: 'false'}\n")
		}
	}
	return b.String()
}

// expected returns the end states of the tasks by the rules of the language. It shares no code with the engine.
func expected(tasks []planned) map[string]string {
	ends := map[string]string{}
	for _, t := range tasks {
		failed, blocked := false, false
		for _, n := range t.needs {
			failed = failed || ends[n] == "failed" || ends[n] == "upstream_failed"
			blocked = blocked || ends[n] == "failed" || ends[n] == "upstream_failed" || ends[n] == "canceled"
		}
		switch {
		case t.rule == "all_success" && blocked:
			ends[t.id] = "upstream_failed"
		case t.rule == "one_failed" && !failed, t.does == "false":
			ends[t.id] = "skipped"
		case t.does == "fail":
			ends[t.id] = "failed"
		default:
			ends[t.id] = "completed"
		}
	}
	return ends
}

// TestDAGRandomRuns: random DAGs end exactly as their rules require. Half of them continue as new at every
// step, and nothing is executed twice.
func TestDAGRandomRuns(t *testing.T) {
	t.Parallel()
	h := newTally()
	p := newInProcess(t, 64, h)
	applyTally(t, p.client)
	const together = 8
	runs := testsuite.Sized(t, 30, 300)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any seed will do
	t.Logf("seed %d", seed)
	var wg sync.WaitGroup
	places := make(chan struct{}, together)
	for n := range runs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // for a test
			tasks := randomDAG(random, 4+random.IntN(12))
			options := starter.DAGOptions{Run: fmt.Sprint(n), RollEvents: n % 2}
			ref := runDAG(t, p.client, compileDAG(t, yaml("random", tasks), nil), options)
			result := awaitDAG(t, p.client, ref, 2*time.Minute)
			want := expected(tasks)
			if !assert.Equal(t, want, states(result), "run %d:\n%s", n, yaml("random", tasks)) {
				return
			}
			checkCounts(t, p.client, h, ref, tasks, result)
		})
	}
	wg.Wait()
}

func checkCounts(t *testing.T, c *starter.Client, h *tally, ref starter.RunRef, tasks []planned, result contract.DAGResult) {
	t.Helper()
	counts := map[string]int{}
	for _, task := range tasks {
		got := result.Tasks[task.id]
		counts[got.State]++
		times := map[string]int{"tally": 1, "fail": 1, "flaky": 2}[task.does]
		if got.State == "upstream_failed" || got.State == "skipped" {
			times = 0
		}
		assert.Equal(t, times, h.of(ref, task.id), "executions of %s", task.id)
		if task.does != "noop" && task.does != "false" {
			again, history := 0, []starter.Attempt(nil)
			if got.Attempts != times {
				again, history = sentAgain(t, c, ref, task.id)
			}
			assert.Equal(t, times+again, got.Attempts, "attempts of %s: %+v", task.id, history)
		}
	}
	assert.Equal(t, counts, result.Counts)
	want := contract.OutcomeCompleted
	if counts["failed"]+counts["upstream_failed"] > 0 {
		want = contract.OutcomeFailed
	}
	assert.Equal(t, want, result.Outcome)
}

// sentAgain counts the attempts at a task that cost no retry, from the histories of the run: a busy worker takes some too late, or
// never receives what the server has handed out.
func sentAgain(t *testing.T, c *starter.Client, ref starter.RunRef, id string) (n int, all []starter.Attempt) {
	t.Helper()
	task, err := c.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: id})
	if !assert.NoError(t, err) {
		return 0, nil
	}
	var history starter.ItemHistory
	testsuite.WaitFor(t, 30*time.Second, "the histories of "+id, func() bool {
		history, err = c.Runs().History(t.Context(), task)
		return err == nil
	})
	for _, attempt := range history.Attempts {
		switch contract.FailureKind(attempt.EndedAs) {
		case contract.FailureNotTaken, contract.FailureWorkerLost, contract.FailureNotRunning, contract.FailureAtCapacity:
			n++
		}
	}
	return n, history.Attempts
}

// TestDAGRandomOperators: after random requests of operators a run ends completed, failed or canceled. Every
// task is at rest, the outcome follows from the states, and all sub-DAGs have ended and all resources are
// released.
func TestDAGRandomOperators(t *testing.T) {
	t.Parallel()
	h := newTally()
	p := newInProcess(t, 64, h)
	applyTally(t, p.client)
	const together = 8
	runs := testsuite.Sized(t, 10, 30)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any seed will do
	t.Logf("seed %d", seed)
	var wg sync.WaitGroup
	places := make(chan struct{}, together)
	for n := range runs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // for a test
			tasks := randomDAG(random, 10+random.IntN(10))
			text := yaml("operated-at-random", tasks) +
				"  - {id: gate, approval: {timeout: 20s}}\n  - {id: behind, needs: [gate], job_type: tally}\n" +
				"  - {id: sub, dag: inner.yaml, resources: {tape: 1}}\n  - {id: runs, job_type: tally, params: {waits: 1}, resources: {db: 1, tape: 1}}\n"
			tasks = append(tasks, planned{id: "sub"}, planned{id: "runs"}, planned{id: "runs"})
			text = strings.Replace(text, "concurrency: 4\n", "concurrency: 2\nhold_on_failure: 1s\n", 1)
			inner := mapFiles{"inner.yaml": "version: 1\nname: inner\ntasks:\n  - {id: one, job_type: tally, resources: {db: 1}}\n  - {id: clean, needs: [one], trigger_rule: always, sleep: 20ms}\n"}
			ref := runDAG(t, p.client, compileDAG(t, text, inner), starter.DAGOptions{Run: fmt.Sprint(n), RollEvents: n % 2, Resources: map[string]int{"tape": 4, "db": 2}})
			for range 12 {
				meddle(t, p.client, ref, random, tasks)
			}
			// Some holds may be left.
			if err := p.client.Runs().Resume(t.Context(), ref); err != nil {
				assert.ErrorIs(t, err, starter.ErrAlreadyEnded)
			}
			_, _ = p.client.DAGs().ApproveTask(t.Context(), ref, "gate", "test", "")
			if err := p.client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: ref, ID: "runs"}, ""); err != nil {
				t.Logf("cancel of runs in %s: %v", ref.WorkflowID, err) // An uncanceled job waits forever.
			}
			result := awaitDAG(t, p.client, ref, 2*time.Minute)
			checkRest(t, result, len(tasks)+1)
		})
	}
	wg.Wait()
	p.awaitAdmission("nothing left", func(view contract.AdmissionView) bool { return len(view.Pools) == 0 })
}

// meddle sends one random message. The run may refuse it.
func meddle(t *testing.T, c *starter.Client, ref starter.RunRef, random *rand.Rand, tasks []planned) {
	ctx, task := t.Context(), tasks[random.IntN(len(tasks))].id
	var err error
	switch random.IntN(25) {
	case 0, 1, 2, 3:
		_, err = c.DAGs().RetryTasks(ctx, ref, nil, "test")
	case 4, 5, 6:
		_, err = c.DAGs().RetryTasks(ctx, ref, []string{task}, "test")
	case 7, 8, 9, 10:
		_, err = c.DAGs().SkipTask(ctx, ref, task, "test", "")
	case 11, 12, 13:
		_, err = c.DAGs().RerunTask(ctx, ref, task, "test")
	case 14, 15:
		err = c.Runs().CancelItem(ctx, starter.ItemRef{Run: ref, ID: task}, "")
	case 16:
		_, err = c.DAGs().ApproveTask(ctx, ref, "gate", "test", "")
	case 17:
		_, err = c.DAGs().RejectTask(ctx, ref, "gate", "test", "")
	case 18, 19:
		err = c.Runs().Pause(ctx, ref, "for a test")
	case 20, 21:
		err = c.Runs().Resume(ctx, ref)
	case 22:
		_, err = c.DAGs().AddTasks(ctx, ref, "added", fmt.Appendf(nil, `[{"id": "x%d", "needs": [%q], "noop": true}]`, random.IntN(1000), task), "test")
	case 23:
		if random.IntN(3) == 0 {
			err = c.Runs().Cancel(ctx, ref, "for a test")
		}
	case 24:
		_, err = c.DAGs().SetConcurrency(ctx, ref, 1+random.IntN(4), "test")
	}
	if err != nil {
		assert.NotContains(t, err.Error(), "panic", "%v", err)
		assert.NotContains(t, err.Error(), "CONTROL_PLANE_DOWN", "%v", err)
	}
}

func checkRest(t *testing.T, result contract.DAGResult, least int) {
	t.Helper()
	counts := map[string]int{}
	for _, task := range result.Tasks {
		counts[task.State]++
	}
	assert.GreaterOrEqual(t, len(result.Tasks), least)
	assert.Equal(t, counts, result.Counts)
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		assert.Contains(t, []string{"completed", "failed", "upstream_failed", "skipped", "canceled"}, state)
	}
	bad := counts["failed"] + counts["upstream_failed"] + counts["canceled"]
	switch result.Outcome {
	case contract.OutcomeCompleted:
		assert.Zero(t, bad)
	case contract.OutcomeFailed:
		assert.NotZero(t, bad)
	case contract.OutcomeCanceled:
	default:
		assert.Fail(t, "outcome", "%s", result.Outcome)
	}
}
