package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// turmoil has groups with common lanes, objects, keys and a pool, and an operator who acts on them and on
// admission at random.
type turmoil struct {
	*inProcess
	*site

	random *rand.Rand
	dag    *spec.Compiled
	// ids are the started workflows.
	ids []string
	// resets allows resets of holders. A reset job's first attempt continues next to its successor until its
	// next heartbeat, and its fence makes its writes void.
	resets bool
}

// begins starts a group, detected or submitted, or a run of a DAG. Some jobs of groups are DAGs.
func (x *turmoil) begins() {
	n := len(x.ids)
	if x.random.IntN(4) == 0 {
		ref := runDAG(x.t, x.client, x.dag, starter.DAGOptions{Resources: map[string]int{"db": 2}})
		x.ids = append(x.ids, ref.WorkflowID)
		return
	}
	var found []jobtype.Proposal
	for i := range 1 + x.random.IntN(3) {
		object := fmt.Sprintf("x%d", x.random.IntN(3))
		p := at(object)
		p.DedupeKey = fmt.Sprintf("%s-%d", object, i)
		p.Exclusive = []string{object}
		if p.Resources = map[string]int{"db": 1}; x.random.IntN(5) == 0 {
			p.DAG, p.Resources = turmoilDAG, nil
		}
		p.Priority = []jobtype.Priority{jobtype.PriorityLow, jobtype.PriorityNormal, jobtype.PriorityHigh}[x.random.IntN(3)]
		found = append(found, p)
	}
	// Types share a dozen names, so that groups of one type meet.
	spec := siteSpec(x.t, fmt.Sprintf("type-%d", x.random.IntN(12)), []string{"", "default", "night"}[x.random.IntN(3)], found...)
	spec.Resources = map[string]int{"db": 2}
	spec.Policy.RetryLimit = 3
	spec.Policy.RetryBackoff = jobtype.Duration(50 * time.Millisecond)
	in := contract.JobGroupInput{Spec: spec}
	if x.random.IntN(3) == 0 {
		in.Submission = &contract.Submission{ID: fmt.Sprint(n), Proposals: found}
	}
	id := fmt.Sprintf("group/turmoil-%d", n)
	_, err := x.client.Temporal().ExecuteWorkflow(x.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: contract.ControlQueue}, contract.JobGroupWorkflow, in)
	require.NoError(x.t, err)
	x.ids = append(x.ids, id)
}

// acts acts on one of the last groups, or on admission. A group that has ended, or is not ready for the action,
// is no fault.
func (x *turmoil) acts() {
	recent := x.ids[max(0, len(x.ids)-8):]
	id := recent[x.random.IntN(len(recent))]
	ref, task := starter.RunRef{WorkflowID: id}, fmt.Sprintf("a.%d", 1+x.random.IntN(4))
	temporal, ctx := x.client.Temporal(), x.t.Context()
	switch x.random.IntN(16) {
	case 0:
		_ = temporal.SignalWorkflow(ctx, id, "", contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough"})
	case 1:
		_ = temporal.CancelWorkflow(ctx, id, "")
	case 2:
		_ = temporal.SignalWorkflow(ctx, id, "", contract.SignalPause, contract.PauseInput{})
	case 3, 4:
		_ = temporal.SignalWorkflow(ctx, id, "", contract.SignalResume, nil)
	case 5:
		_ = testsuite.CancelItem(ctx, temporal, id, contract.CancelItemInput{Item: contract.JobID(1 + x.random.IntN(3))})
	case 6:
		_ = testsuite.CancelItem(ctx, temporal, id, contract.CancelItemInput{Force: true, Item: contract.JobID(1 + x.random.IntN(3))})
	case 7:
		_ = temporal.TerminateWorkflow(ctx, id, "", "test")
	case 8:
		_, _ = x.client.Admission().ResizePool(ctx, "db", x.random.IntN(4), "test")
	case 9:
		if x.random.IntN(4) == 0 {
			_ = temporal.TerminateWorkflow(ctx, contract.AdmissionWorkflowID, "", "test")
		}
	case 10:
		_ = temporal.SignalWorkflow(ctx, id, "", contract.SignalReassert, nil)
	case 11:
		if x.resets {
			x.tryReset(id)
		}
	case 12:
		_ = x.client.Runs().CancelItem(ctx, starter.ItemRef{Run: ref, ID: task}, "enough")
	case 13:
		_, _ = x.client.DAGs().RerunTask(ctx, ref, task, "test")
	default:
		x.begins()
	}
}

// tryReset resets an open or closed group to its first task.
func (x *turmoil) tryReset(id string) {
	described, err := x.client.Temporal().DescribeWorkflowExecution(x.t.Context(), id, "")
	require.NoError(x.t, err)
	if described.GetWorkflowExecutionInfo().GetHistoryLength() > 8 {
		x.reset(id)
	}
}

// TestAdmissionInTurmoil: after any actions on holders, waiting groups and admission, no two jobs were at an
// object at once, fences only grew, all groups have ended, and nothing is held.
func TestAdmissionInTurmoil(t *testing.T) {
	t.Parallel()
	for _, resets := range []bool{false, true} {
		t.Run(fmt.Sprintf("resets=%v", resets), func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			s := newSite()
			s.stay = 60 * time.Millisecond
			x := &turmoil{
				inProcess: newInProcess(t, 20, s), site: s, dag: compileDAG(t, turmoilDAG, nil),
				random: rand.New(rand.NewPCG(seed, 1)), resets: resets,
			}
			for range 4 {
				x.begins()
			}
			for range turmoilSteps {
				x.acts()
				testsuite.WaitFor(t, time.Second, "a moment passes", func() bool { return x.random.IntN(2) == 0 })
			}
			x.calm()
			if !resets {
				for object, most := range s.crowds() {
					assert.LessOrEqual(t, most, 1, object)
				}
			}
			assert.Zero(t, s.outdated(), "fences only grow")
		})
	}
}

const turmoilSteps = 80

// turmoilDAG has tasks and a sub-DAG that share the pool with the groups.
const turmoilDAG = `version: 1
name: turmoil
concurrency: 3
tasks:
  - {id: a, for_each: [1, 2, 3, 4], resources: {db: 1}, command: [sleep, "0.05"]}
  - {id: b, needs: [a], trigger_rule: all_done, resources: {db: 2}, noop: true}
`

// calm resumes paused groups until all have ended, and checks for leftovers.
func (x *turmoil) calm() {
	x.t.Helper()
	open := slices.Clone(x.ids)
	testsuite.WaitFor(x.t, 30*time.Second, "the pool has its own size", func() bool {
		_, err := x.client.Admission().ResizePool(x.t.Context(), "db", 0, "test")
		return err == nil
	})
	testsuite.WaitFor(x.t, 100*time.Second, "all groups end", func() bool {
		open = slices.DeleteFunc(open, func(id string) bool {
			_ = x.client.Temporal().SignalWorkflow(x.t.Context(), id, "", contract.SignalResume, nil)
			described, err := x.client.Temporal().DescribeWorkflowExecution(x.t.Context(), id, "")
			return err == nil && described.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		})
		return len(open) == 0
	})
	last := siteSpec(x.t, "last", "default", at("last"))
	assert.Equal(x.t, contract.OutcomeCompleted, x.end(x.begin("last", last)).Outcome)
	x.awaitAdmission("everything is free", func(view contract.AdmissionView) bool {
		used := 0
		for _, pool := range view.Pools {
			used += pool.Used + len(pool.Waiting)
		}
		return used == 0 && len(view.Lanes)+len(view.Objects)+len(view.Holders)+view.Keys == 0
	})
}
