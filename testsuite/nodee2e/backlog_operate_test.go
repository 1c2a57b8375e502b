package nodee2e

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
)

// calls counts the calls of a client by method, with the bytes of their answers.
type calls struct {
	mu    sync.Mutex
	count map[string]int
	bytes int
	// histories are the workflow runs whose histories were read.
	histories map[string]bool
}

func (c *calls) intercept(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, in, out, cc, options...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[method[strings.LastIndexByte(method, '/')+1:]]++
	if answer, ok := out.(proto.Message); ok {
		c.bytes += proto.Size(answer)
	}
	if request, ok := in.(*workflowservice.GetWorkflowExecutionHistoryRequest); ok {
		c.histories[request.GetExecution().GetWorkflowId()+"@"+request.GetExecution().GetRunId()] = true
	}
	return err
}

// counted runs do with a client of its own and returns its calls.
func (s *site) counted(do func(*starter.Client)) *calls {
	s.T.Helper()
	c := &calls{count: map[string]int{}, histories: map[string]bool{}}
	client, err := starter.Dial(s.T.Context(), starter.Options{Address: s.Server.Address(), Intercept: c.intercept, HeartbeatInterval: -1})
	require.NoError(s.T, err)
	defer client.Close()
	clear(c.count)
	c.bytes = 0
	do(client)
	return c
}

// operated is a group that operators change while it runs.
type operated struct {
	*site

	ref  starter.RunRef
	jobs int
}

func (o *operated) status() contract.GroupStatus {
	o.T.Helper()
	shown, err := o.Client.Runs().Show(o.T.Context(), o.ref)
	require.NoError(o.T, err)
	if shown.Group == nil {
		return contract.GroupStatus{}
	}
	return *shown.Group
}

func (o *operated) item(n int) starter.Item {
	o.T.Helper()
	found, err := o.Client.Runs().Item(o.T.Context(), starter.ItemRef{Run: o.ref, ID: contract.JobID(n)})
	require.NoError(o.T, err)
	return found
}

// exact checks that the counts of a group without running jobs are those of the jobs themselves.
func (o *operated) exact(status contract.GroupStatus) {
	o.T.Helper()
	ended := len(o.book().of("end").perKey())
	assert.Equal(o.T, ended, status.Counts.Completed)
	assert.Equal(o.T, o.jobs, status.Counts.Accepted)
	assert.Equal(o.T, o.jobs, status.Counts.Ended()+status.Pending)
	listed := 0
	for _, state := range []string{contract.JobPending, contract.JobCompleted, contract.JobCanceled} {
		_, total, err := o.Client.Runs().Items(o.T.Context(), o.ref, starter.ItemFilter{States: []string{state}, Limit: 1})
		require.NoError(o.T, err)
		listed += total
	}
	assert.Equal(o.T, o.jobs, listed)
}

// explained explains the group, which is paused, with counted calls.
func (o *operated) explained() *calls {
	o.T.Helper()
	pending := o.status().Pending
	return o.counted(func(client *starter.Client) {
		found, err := explainer.Explain(o.T.Context(), client, o.ref.WorkflowID)
		require.NoError(o.T, err)
		require.NotEmpty(o.T, found.Reasons)
		assert.Equal(o.T, contract.CodePaused, found.Reasons[0].Code)
		assert.Contains(o.T, found.Reasons[0].Detail, " more wait for it)")
		require.Len(o.T, found.Run.Group.Waits, 1)
		assert.Equal(o.T, pending, found.Run.Group.Waits[0].Items)
	})
}

// TestALargeGroupIsOperated while it runs, with more jobs than are open at once: it is paused, changed, resumed and
// canceled, and the control plane is killed in the middle of the cancel. Every job has exactly one end, and the lane
// is free.
func TestALargeGroupIsOperated(t *testing.T) {
	t.Parallel()
	const jobs, named = 25_000, 24_000
	s := newSite(t)
	s.letGo()
	workers := s.plainWorkers("node-a", "node-b")
	spec := s.plainSpec(jobs, 0, ofBusyWorker)
	spec.Lane = "heavy"
	run := s.launchPlain("group/plain", contract.JobGroupInput{RollEvents: 2000, Spec: spec})
	o := &operated{site: s, ref: starter.RunRef{WorkflowID: "group/plain"}, jobs: jobs}
	s.awaitBook("jobs have ended", func(b book) bool { return len(b.of("end")) >= 400 })

	require.NoError(t, s.Client.Runs().Pause(t.Context(), o.ref, "a look"))
	testsuite.WaitFor(t, time.Minute, "it is paused, and nothing runs", func() bool { status := o.status(); return status.Paused && status.Running == 0 })
	started := len(s.book().of("start"))
	changes, err := s.Client.Runs().Set(t.Context(), o.ref, override.Change{"global_execution_concurrency": json.RawMessage("7")})
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.NoError(t, s.Client.Runs().CancelItem(t.Context(), starter.ItemRef{Run: o.ref, ID: contract.JobID(named)}, "not this one"))
	testsuite.WaitFor(t, time.Minute, "a job of the backlog is canceled", func() bool { return o.item(named).State == contract.JobCanceled })
	assert.Len(t, s.book().of("start"), started, "nothing starts during a pause")
	o.exact(o.status())
	asked := o.explained()
	assert.Empty(t, asked.histories)
	assert.LessOrEqual(t, asked.count["QueryWorkflow"], 2, "the group and the holds: %v", asked.count)
	assert.Less(t, asked.bytes, 64<<10, "%v", asked.count)

	require.NoError(t, s.Client.Runs().Resume(t.Context(), o.ref))
	testsuite.WaitFor(t, 2*time.Minute, "it continues with 7 at once", func() bool {
		status := o.status()
		require.LessOrEqual(t, status.Running, 7)
		return len(s.book().of("end")) >= 900
	})
	first := s.book().of("end")[0]
	detail := s.counted(func(client *starter.Client) {
		n, _ := contract.JobNumber(first.key)
		item, err := client.Runs().Item(t.Context(), starter.ItemRef{Run: o.ref, ID: contract.JobID(n)})
		require.NoError(t, err)
		assert.Equal(t, contract.JobCompleted, item.State)
		shown, err := client.Runs().Detail(t.Context(), item)
		require.NoError(t, err)
		assert.Len(t, shown.Attempts, 1)
	})
	t.Logf("explain: %v, %d bytes; an early job: %v, %d bytes, histories %v", asked.count, asked.bytes, detail.count, detail.bytes, slices.Sorted(maps.Keys(detail.histories)))

	// The jobs on node-b cannot end, so the cancel cannot, either.
	testsuite.WaitFor(t, time.Minute, "node-b has jobs", func() bool {
		workers["node-b"].Signal(t, syscall.SIGSTOP)
		items, _, err := s.Client.Runs().Items(t.Context(), o.ref, starter.ItemFilter{States: []string{contract.JobRunning, contract.JobAssigned}, Worker: "node-b"})
		if err == nil && len(items) > 0 {
			return true
		}
		workers["node-b"].Signal(t, syscall.SIGCONT)
		return false
	})
	require.NoError(t, s.Client.Runs().Cancel(t.Context(), o.ref, "enough"))
	s.control.Kill()
	s.control = s.Start("server")
	testsuite.WaitFor(t, time.Minute, "the backlog is canceled", func() bool {
		shown, err := s.Client.Runs().Show(t.Context(), o.ref)
		return err == nil && shown.Group != nil && shown.Group.Pending == 0 && shown.Group.Counts.Canceled > 0
	})
	s.control.Kill()
	workers["node-b"].Signal(t, syscall.SIGCONT)
	s.control = s.Start("server")
	result := s.plainEnd(run)
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome, result.Reason)
	assert.Equal(t, jobs, result.Counts.Accepted)
	assert.Equal(t, jobs, result.Counts.Completed+result.Counts.Canceled, "%+v", result.Counts)
	states := s.listed(jobs)
	assert.Equal(t, map[string]int{contract.JobCompleted: result.Counts.Completed, contract.JobCanceled: result.Counts.Canceled}, states)
	for job, times := range s.book().of("start").perKey() {
		assert.Equal(t, 1, times, job)
	}

	// The lane is free: the next group runs to its end.
	small := s.plainSpec(5, 0, ofBusyWorker)
	small.Lane = spec.Lane
	next := s.plainEnd(s.launchPlain("group/plain", contract.JobGroupInput{Spec: small}))
	assert.Equal(t, completed(5), next.Counts)
	testsuite.WaitFor(t, time.Minute, "nobody has the lane", func() bool {
		view, err := s.Client.Admission().View(t.Context(), contract.AdmissionFilter{})
		return err == nil && view.Keys == 0 && !slices.ContainsFunc(view.Lanes, func(lane contract.AdmissionLane) bool { return lane.Holder != nil })
	})
}
