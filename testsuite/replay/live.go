package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workflows"
)

const (
	// liveBudget bounds the replay time of a test. liveEvents and liveBytes bound one history.
	liveBudget = 5 * time.Second
	liveEvents = 4000
	liveBytes  = 8 << 20
	// begun is the number of events of a run whose first workflow task has begun; the SDK replays no shorter one.
	begun = 3
)

// StartServer is [testsuite.StartServer] for tests of Roundsman's own workflows. At the end of the test it
// replays their histories, as many as time allows. A decision in the order of a map, for example, succeeds
// while the workflow is in its worker's cache, and fails in a replay.
func StartServer(t testing.TB, options ...testsuite.Option) *testsuite.Server {
	t.Helper()
	server := testsuite.StartServer(t, options...)
	t.Cleanup(func() { replayAll(t, server) })
	return server
}

func replayAll(t testing.TB, server *testsuite.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), liveBudget)
	defer cancel()
	dialed, err := starter.Dial(ctx, starter.Options{Address: server.Address(), Namespace: server.Namespace, DialTimeout: time.Second})
	if err != nil {
		t.Logf("no history is replayed: %v", err)
		return
	}
	defer dialed.Close()
	played := 0
	defer func() { t.Logf("%d histories replayed", played) }()
	var token []byte
	for more := true; more && ctx.Err() == nil; more = len(token) > 0 {
		page, err := dialed.Temporal().ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{NextPageToken: token})
		if err != nil {
			t.Logf("not all histories are replayed: %v", err)
			return
		}
		for _, run := range page.GetExecutions() {
			if replayLive(ctx, t, dialed.Temporal(), run) {
				played++
			}
		}
		token = page.GetNextPageToken()
	}
}

func replayLive(ctx context.Context, t testing.TB, c client.Client, run *workflowpb.WorkflowExecutionInfo) (played bool) {
	t.Helper()
	if _, ours := Versions()[run.GetType().GetName()]; !ours || run.GetHistoryLength() > liveEvents || run.GetHistorySizeBytes() > liveBytes {
		return false
	}
	history, err := Fetch(ctx, c, run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId())
	if err != nil || len(history.GetEvents()) < begun {
		return false // There was no time for it, it is gone, or it waits for a worker.
	}
	if err := Play(history); err != nil {
		t.Errorf("%s does not replay: %v; %s", run.GetExecution(), err, keepFailed(history))
	}
	return true
}

// keepFailed writes a history to a file and returns its name.
func keepFailed(history *historypb.History) string {
	data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(history)
	if err != nil {
		return err.Error()
	}
	file, err := os.CreateTemp("", "roundsman-does-not-replay-*.json")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Write(data); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("its history is in %s", filepath.Clean(file.Name()))
}

// Play replays one history with the current workflows. It ignores the SDK's limit of a second for a workflow
func Play(history *historypb.History, more ...interceptor.WorkerInterceptor) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:            starter.DataConverter(),
		Interceptors:             append([]interceptor.WorkerInterceptor{workflows.Steering()}, more...),
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return err
	}
	workflows.Register(replayer)
	// Ids of child workflows contain the workflow's own.
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}
