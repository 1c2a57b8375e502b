package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("the server is away")

type fakeServer struct {
	stored           map[string][]byte
	mu               sync.Mutex
	beats            []contract.Heartbeat
	completed        []completion
	beaten, answered []string
	signals          []contract.JobOutcomeInput
	pages            []contract.DetectPageInput
	updateIDs        []string

	onBeat     func(n int) error
	onComplete func(n int) error
	onSignal   func(n int) error
	onPage     func(n int, page contract.DetectPageInput) (contract.DetectPageResult, error)
	onPut      func(n int) error
	puts       int
	completes  int
	signaled   int
	paged      int
}

type completion struct {
	result  any
	failure error
}

func (f *fakeServer) Beat(_ context.Context, token []byte, beat contract.Heartbeat) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats, f.beaten = append(f.beats, beat), append(f.beaten, string(token))
	if f.onBeat != nil {
		return f.onBeat(len(f.beats))
	}
	return nil
}

func (f *fakeServer) Complete(_ context.Context, token []byte, result any, failure error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.completes++
	if f.onComplete != nil {
		if err := f.onComplete(f.completes); err != nil {
			return err
		}
	}
	f.completed, f.answered = append(f.completed, completion{result, failure}), append(f.answered, string(token))
	return nil
}

func (f *fakeServer) SignalOutcome(_ context.Context, _ string, outcome contract.JobOutcomeInput) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signaled++
	if f.onSignal != nil {
		if err := f.onSignal(f.signaled); err != nil {
			return err
		}
	}
	f.signals = append(f.signals, outcome)
	return nil
}

func (f *fakeServer) SendPage(_ context.Context, _, _, updateID string, page contract.DetectPageInput) (contract.DetectPageResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paged++
	if f.onPage != nil {
		answer, err := f.onPage(f.paged, page)
		if err != nil {
			return answer, err
		}
		f.pages, f.updateIDs = append(f.pages, page), append(f.updateIDs, updateID)
		return answer, nil
	}
	f.pages, f.updateIDs = append(f.pages, page), append(f.updateIDs, updateID)
	return contract.DetectPageResult{Accepted: len(page.Proposals)}, nil
}

func (f *fakeServer) PutPage(_ context.Context, _ string, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.puts++; f.onPut != nil {
		if err := f.onPut(f.puts); err != nil {
			return "", err
		}
	}
	if f.stored == nil {
		f.stored = map[string][]byte{}
	}
	name := contract.PageName(data)
	f.stored[name] = data
	return name, nil
}

func (f *fakeServer) beatCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.beats)
}

func (f *fakeServer) outcomes() []completion {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]completion(nil), f.completed...)
}

type fakeHandler struct {
	descriptor jobtype.Descriptor
	detect     func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error
	execute    func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error)
}

func (h *fakeHandler) Descriptor() jobtype.Descriptor { return h.descriptor }

func (h *fakeHandler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	return h.detect(ctx, in, out)
}

func (h *fakeHandler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	return h.execute(ctx, job, progress)
}

type bench struct {
	server     *fakeServer
	activities *Activities
}

type executor func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error)

func newBench(t *testing.T, handler *fakeHandler, edit ...func(*Options)) *bench {
	t.Helper()
	handler.descriptor.Name = "fake"
	server := &fakeServer{}
	options := Options{
		Handlers: map[string]jobtype.Handler{"fake": handler}, WorkerID: "node-a", Instance: "i1",
		Server: server, Pages: server, CancelGrace: 50 * time.Millisecond,
	}
	for _, change := range edit {
		change(&options)
	}
	activities, err := New(options)
	require.NoError(t, err)
	t.Cleanup(activities.Abandon)
	return &bench{server: server, activities: activities}
}

func executing(t *testing.T, execute executor, edit ...func(*Options)) *bench {
	t.Helper()
	return newBench(t, &fakeHandler{execute: execute}, edit...)
}

func (b *bench) run(t *testing.T, in contract.ExecuteInput, edit ...func(*sdktest.TestActivityEnvironment)) {
	t.Helper()
	require.ErrorIs(t, <-b.begin(in, edit...), activity.ErrResultPending)
}

// begin runs an attempt and gives how it returned.
func (b *bench) begin(in contract.ExecuteInput, edit ...func(*sdktest.TestActivityEnvironment)) <-chan error {
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(b.activities.Execute, activity.RegisterOptions{Name: contract.ExecuteActivity})
	for _, change := range edit {
		change(env)
	}
	returned := make(chan error, 1)
	go func() {
		_, err := env.ExecuteActivity(contract.ExecuteActivity, in)
		returned <- err
	}()
	return returned
}

func input(params string) contract.ExecuteInput {
	return contract.ExecuteInput{
		Handler: "fake",
		Job:     jobtype.Job{ID: "job-00001", GroupID: "group/x-1", JobType: "x", Attempt: 1, Params: json.RawMessage(params)},
	}
}

func (b *bench) only(t *testing.T) (contract.ExecuteState, error) {
	t.Helper()
	outcomes := b.server.outcomes()
	require.Len(t, outcomes, 1)
	state, ok := outcomes[0].result.(contract.ExecuteState)
	require.True(t, ok)
	return state, outcomes[0].failure
}

func (b *bench) failed(t *testing.T) contract.ExecuteState {
	t.Helper()
	_, failure := b.only(t)
	var application *temporal.ApplicationError
	require.ErrorAs(t, failure, &application)
	require.True(t, application.NonRetryable())
	var state contract.ExecuteState
	require.NoError(t, application.Details(&state))
	require.Equal(t, application.Type(), string(state.Failure))
	require.Equal(t, application.Message(), state.Message)
	return state
}
