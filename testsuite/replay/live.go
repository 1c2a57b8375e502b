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
	// liveBudget bounds what replaying costs a test, and liveEvents and liveBytes what
	// one history does.
	liveBudget = 5 * time.Second
	liveEvents = 4000
	liveBytes  = 8 << 20
	// begun is the number of events of a run whose first workflow task has begun; the SDK replays no shorter one.
	begun = 3
)

// StartServer is [testsuite.StartServer] for tests that run Roundsman's own workflows:
// when the test has ended, the histories that it has left are replayed, as many as
// there is time for. A decision in the order of a map, say, goes well as long as
// the workflow is in its worker's cache, and fails then.
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

// keepFailed writes a history down, and says where.
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

// Play replays one history with today's workflows. How long that takes is no fault: a
// machine that runs other tests too may stand for more than the second that the SDK
// allows.
func Play(history *historypb.History) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:            starter.DataConverter(),
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Steering()},
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return err
	}
	workflows.Register(replayer)
	// Ids of child workflows are made of the workflow's own.
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	})
}
