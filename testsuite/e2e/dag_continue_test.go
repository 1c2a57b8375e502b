package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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

const continued = `
version: 1
name: continued
tasks:
  - id: plan
    heartbeat_timeout: 4s
    command:
      - sh
      - -c
      - |
        echo "plan-$ROUNDSMAN_CHECKPOINT" >> DIR/effects.log
        case "$ROUNDSMAN_CHECKPOINT" in
        "") echo '{"continue": {"step":1}, "tasks": [{"id": "left", "heartbeat_timeout": "4s", "command": ["sh", "-c", "echo left >> DIR/effects.log; while [ ! -e DIR/gate ]; do sleep 0.05; done; echo left-done >> DIR/effects.log"]}]}' ;;
        '{"step":1}') echo '{"continue": {"step":2}, "tasks": [{"id": "right", "command": ["sh", "-c", "echo right >> DIR/effects.log; test -e DIR/mended"]}]}' ;;
        *) echo '{"sum": "S"}' ;;
        esac
  - {id: after, needs: [plan], command: [sh, -c, 'echo after-$1 >> DIR/effects.log', sh, "{{.Needs.plan.Result.sum}}"]}
`

// TestDAGTaskContinuesSurvivesKills: a task returns tasks and continues after them, twice, while its worker and
// the control plane are killed. After a failure a new run keeps the returned tasks and executes only the
// remaining ones.
func TestDAGTaskContinuesSurvivesKills(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	ref := runDAG(t, c.client, compileDAG(t, strings.ReplaceAll(continued, "DIR", c.dir), nil), starter.DAGOptions{})
	testsuite.WaitFor(t, time.Minute, "the task that it returned", func() bool { return len(c.lines("effects.log")) >= 2 })
	c.workers["node-a"].Kill()
	c.control[0].Kill()
	c.control = append(c.control, c.start("server"))
	c.worker("node-b")
	c.awaitFresh("node-b")
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "gate"), nil, 0o600))
	result := awaitDAG(t, c.client, ref, 2*time.Minute)
	require.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, map[string]string{"plan": "upstream_failed", "left": "completed", "right": "failed", "after": "upstream_failed"}, states(result), "%+v", result.Tasks)
	lines := c.lines("effects.log")
	assert.Equal(t, []string{"plan-", "left"}, lines[:2])
	assert.Equal(t, []string{"left-done", `plan-{"step":1}`, "right"}, lines[len(lines)-3:])

	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "mended"), nil, 0o600))
	retried, err := c.client.DAGs().Retry(t.Context(), ref, starter.DAGRetry{})
	require.NoError(t, err)
	result = awaitDAG(t, c.client, retried.RunRef, time.Minute)
	require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, []string{"right", "plan-", `plan-{"step":1}`, `plan-{"step":2}`, "after-S"}, c.lines("effects.log")[len(lines):], "left is not done again")
}

// planner returns a task for each name in its params, and continues after them.
type planner struct{}

// Descriptor implements jobtype.Handler.
func (planner) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "planner", ExecuteOnly: true, Help: "Plans."}
}

// Detect implements jobtype.Handler.
func (planner) Detect(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return nil }

// Execute implements jobtype.Handler.
func (planner) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	var names []string
	if len(job.Checkpoint) > 0 {
		if err := json.Unmarshal(job.Checkpoint, &names); err != nil {
			return jobtype.Result{}, jobtype.Permanent(err)
		}
		return jobtype.Result{Data: map[string]any{"planned": strings.Join(names, "+")}}, nil
	}
	var params struct{ Names []string }
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	var tasks []map[string]any
	for _, name := range params.Names {
		tasks = append(tasks, map[string]any{"id": name, "command": []string{"true"}})
	}
	return jobtype.ContinueAfter(params.Names, tasks...), nil
}

// TestDAGHandlerContinues tests the same for a handler in Go.
func TestDAGHandlerContinues(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, planner{})
	types := []contract.JobTypeSpec{{
		Name: "planner", Handler: "planner", Policy: jobtype.Policy{CatchupWindow: jobtype.Duration(time.Minute)}.WithDefaults(), Schedule: contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, Hash: "planner",
	}}
	plan, err := jobtypes.Of(p.client).Plan(t.Context(), types, map[string]bool{"planner": false})
	require.NoError(t, err)
	_, err = jobtypes.Of(p.client).Apply(t.Context(), plan)
	require.NoError(t, err)
	ref := runDAG(t, p.client, compileDAG(t, `
version: 1
name: go
tasks:
  - {id: plan, job_type: planner, params: {names: [a, b]}}
  - {id: after, needs: [plan], command: [test, "{{.Needs.plan.Result.planned}}", =, a+b]}
`, nil), starter.DAGOptions{})
	result := awaitDAG(t, p.client, ref, time.Minute)
	require.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, map[string]string{"plan": "completed", "a": "completed", "b": "completed", "after": "completed"}, states(result))
	assert.Equal(t, 2, result.Tasks["plan"].Attempts)
}
