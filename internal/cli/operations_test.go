package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// typed is one command line of Temporal's own CLI in docs/operations.md.
type typed struct{ verb, workflowID, name, input string }

var (
	typedLine = regexp.MustCompile(`(?m)^temporal workflow (signal|query|cancel|update execute) --workflow-id '?([^' ]+)'?(?: --name ([a-z-]+))?(?: --input '(.*)')?$`)
	anyLine   = regexp.MustCompile(`(?m)^temporal workflow (signal|query|cancel|update)`)
)

func operations(t *testing.T) (string, []typed) {
	t.Helper()
	dir, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "docs", "operations.md"))
	require.NoError(t, err)
	var found []typed
	for _, match := range typedLine.FindAllStringSubmatch(string(text), -1) {
		found = append(found, typed{match[1], match[2], match[3], match[4]})
	}
	require.Len(t, found, len(anyLine.FindAllString(string(text), -1)), "a command line is not understood by this test")
	return string(text), found
}

// TestDocumentedMessages holds the page to the wire: names and inputs.
func TestDocumentedMessages(t *testing.T) {
	t.Parallel()
	_, lines := operations(t)
	inputs := map[string]func() any{
		contract.UpdateCancelItem:     func() any { return &contract.CancelItemInput{} },
		contract.SignalCancelRun:      func() any { return &contract.CancelRunInput{} },
		contract.SignalPause:          func() any { return &contract.PauseInput{} },
		contract.SignalResume:         nil,
		contract.SignalSetCalendar:    func() any { return &contract.SetCalendarInput{} },
		contract.UpdateSetPolicy:      func() any { return &contract.SetPolicyInput{} },
		contract.QueryStatus:          nil,
		contract.QueryJobs:            func() any { return &contract.JobsQueryInput{} },
		contract.QueryWorkers:         func() any { return &contract.WorkersQueryInput{} },
		contract.UpdateOperateWorker:  func() any { return &contract.OperateWorkerInput{} },
		contract.UpdateCleanupWorkers: func() any { return &contract.CleanupWorkersInput{} },
		contract.QueryHolds:           func() any { return &contract.HoldsInput{} },
		contract.QueryAudit:           func() any { return &contract.AuditFilter{} },
		contract.UpdateResizeWorker:   func() any { return &contract.ResizeWorkerInput{} },
		contract.UpdateResizePool:     func() any { return &contract.ResizePoolInput{} },
		contract.UpdateReEnable:       func() any { return &contract.ReEnableInput{} },
		contract.UpdateForgive:        func() any { return &contract.ForgiveInput{} },
		contract.UpdateMarkDone:       func() any { return &contract.MarkDoneInput{} },
	}
	seen := map[string]bool{}
	for _, line := range lines {
		if line.verb == "cancel" {
			continue
		}
		input, known := inputs[line.name]
		require.True(t, known, "%s is no message for people", line.name)
		seen[line.name] = true
		if input == nil {
			assert.Empty(t, line.input, line.name)
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(line.input)))
		decoder.DisallowUnknownFields()
		value := input()
		require.NoError(t, decoder.Decode(value), "%s: %s", line.name, line.input)
		if policy, ok := value.(*contract.SetPolicyInput); ok {
			changed, err := policy.Over(jobtype.DefaultPolicy().WithDefaults())
			require.NoError(t, err)
			require.NoError(t, changed.Validate())
			assert.Equal(t, "alice", policy.By)
		}
	}
	assert.Len(t, seen, len(inputs), "every message for people is documented")
}

// TestDocumentedMessagesWork sends them as the plain CLI does: JSON as it was
// typed, through the SDK's default converter.
func TestDocumentedMessagesWork(t *testing.T) {
	t.Parallel()
	h, _, _ := startCluster(t)
	plain, err := client.Dial(client.Options{HostPort: strings.TrimPrefix(h.env.Environ[0], "TEMPORAL_ADDRESS=")})
	require.NoError(t, err)
	defer plain.Close()
	run := clitest.Decode[starter.RunRef](h.run("start", "slow", "-o", "json").OK()).WorkflowID
	h.eventually("running", "show", run+"/job-00001")

	_, lines := operations(t)
	send := func(verb, name string) {
		t.Helper()
		for _, line := range lines {
			if line.verb == verb && line.name == name {
				// The page's example is about another job and another key.
				input := strings.NewReplacer("job-00012", "job-00003", "job-00007", "job-00001", "/srv/a.bin", "two").Replace(line.input)
				sendTyped(t, plain, line, run, input)
			}
		}
	}
	send("query", contract.QueryStatus)
	send("query", contract.QueryJobs)
	send("query", contract.QueryWorkers)
	send("signal", contract.SignalPause)
	h.eventually("backup window", "show", run)
	send("signal", contract.SignalResume)
	send("update execute", contract.UpdateSetPolicy)
	snapshot := clitest.Decode[starter.Snapshot](h.run("show", run, "-o", "json").OK())
	assert.Equal(t, 8, snapshot.Group.Policy.GlobalExecutionConcurrency)
	assert.Equal(t, jobtype.RoutingWorker, snapshot.Group.Policy.Routing)
	send("signal", contract.SignalSetCalendar)
	h.eventually(`"window"`, "show", run, "-o", "json")
	send("update execute", contract.UpdateOperateWorker)
	h.run("show", "node-a").OK().Says("DRAINING", "alice", "new disks")
	send("update execute", contract.UpdateResizeWorker)
	h.run("show", "node-a").OK().Says("8 execute", "more memory")
	send("update execute", contract.UpdateResizePool)
	h.run("resources").OK().Says("10 (resized)")
	send("update execute", contract.UpdateCleanupWorkers)
	send("signal", contract.SignalCancelRun)
	h.eventually("disk is being replaced", "show", run)
	h.eventually("canceled", "show", run)
	h.eventually(`"ended_at"`, "show", run, "-o", "json") // Only then may the next one start.

	h.run("resume", "node-a").OK()
	run = clitest.Decode[starter.RunRef](h.run("start", "slow", "-o", "json").OK()).WorkflowID
	h.eventually("running", "show", run+"/job-00001")
	send("update execute", contract.UpdateCancelItem)
	h.eventually("canceled", "show", run+"/job-00003")
	h.eventually("canceled", "show", run+"/job-00002")
	h.eventually("stale", "show", run+"/job-00001")
}

func sendTyped(t *testing.T, plain client.Client, line typed, run, input string) {
	t.Helper()
	id := line.workflowID
	if strings.HasPrefix(id, "group/") {
		id = run
	}
	var args []any
	if input != "" {
		args = append(args, json.RawMessage(input))
	}
	switch line.verb {
	case "query":
		answer, err := plain.QueryWorkflow(t.Context(), id, "", line.name, args...)
		require.NoError(t, err, line.name)
		require.True(t, answer.HasValue())
	case "signal":
		var arg any
		if len(args) > 0 {
			arg = args[0]
		}
		require.NoError(t, plain.SignalWorkflow(t.Context(), id, "", line.name, arg), line.name)
	case "update execute":
		handle, err := plain.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: line.name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err, line.name)
		require.NoError(t, handle.Get(t.Context(), nil), line.name)
	}
}
