package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

var detection = contract.DetectActivityInput{
	Handler: "command", WorkflowID: "group/nightly", RunID: "r1", Attempt: 3, Liveness: jobtype.LivenessActivity, StallTimeout: jobtype.Duration(time.Minute),
	Input: jobtype.DetectInput{JobType: "nightly", Params: []byte(`{"path":"/a"}`)},
}

// detecting is a detection and its lease.
func detecting(t *testing.T) (*far, Worker, *Detection, Lease) {
	t.Helper()
	f, w := registered(t)
	f.service.tasks = append(f.service.tasks, task("t1", detection, time.Hour))
	got, err := w.PollDetection(t.Context(), time.Minute)
	require.NoError(t, err)
	require.NotNil(t, got)
	l, err := w.Lease(got.Lease)
	require.NoError(t, err)
	return f, w, got, l
}

func proposals(keys ...string) []jobtype.Proposal {
	list := make([]jobtype.Proposal, 0, len(keys))
	for _, key := range keys {
		list = append(list, jobtype.Proposal{DedupeKey: key})
	}
	return list
}

func TestAPolledDetection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, got, l := detecting(t)
		assert.Equal(t, contract.WorkerDetectQueue("press", "i1"), f.service.polls[0].GetTaskQueue().GetName())
		assert.Equal(t, []any{"nightly", `{"path":"/a"}`, "press", "group/nightly", jobtype.LivenessActivity, jobtype.Duration(time.Minute)},
			[]any{got.JobType, string(got.Params), got.WorkerID, got.Run.ID, got.Liveness, got.StallTimeout})
		assert.Equal(t, []any{"command", jobtype.Duration(6 * time.Second), jobtype.Duration(2 * time.Second), time.Now().Add(time.Hour).UTC()},
			[]any{got.Handler, got.HeartbeatTimeout, got.HeartbeatInterval, got.Deadline})
		assert.True(t, l.Detection())
		cancel, err := l.Heartbeat(t.Context(), Progress{})
		require.NoError(t, err)
		assert.Empty(t, cancel)
	})
}

// Pages are numbered through the calls. A repeat sends the same page under the same id, so the run takes it once.
func TestPagesOfADetection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, got, l := detecting(t)
		first, err := l.Propose(t.Context(), got.Cursor, proposals("a", "b", "a"))
		require.NoError(t, err)
		assert.Equal(t, []any{3, 1, 0, 0, false, ""}, []any{first.Emitted, first.Duplicates, first.Surplus, first.Invalid, first.Full, first.Faults})
		again, err := l.Propose(t.Context(), got.Cursor, proposals("a", "b", "a"))
		require.NoError(t, err)
		assert.Equal(t, first.Emitted, again.Emitted)
		second, err := l.Propose(t.Context(), again.Cursor, proposals("c"))
		require.NoError(t, err)
		assert.Equal(t, []any{4, 1}, []any{second.Emitted, second.Duplicates})
		empty, err := l.Propose(t.Context(), second.Cursor, nil)
		require.NoError(t, err)
		assert.Equal(t, 4, empty.Emitted)

		require.Len(t, f.pages, 3)
		assert.Equal(t, f.pages[0], f.pages[1])
		assert.Equal(t, f.updates[0], f.updates[1])
		assert.NotEqual(t, f.updates[1], f.updates[2])
		assert.Equal(t, []int{0, 0, 1}, []int{f.pages[0].Seq, f.pages[1].Seq, f.pages[2].Seq})
		assert.Equal(t, []int{3, 2}, []int{f.pages[0].Attempt, len(f.pages[0].Proposals)})

		require.NoError(t, l.Detected(t.Context(), empty.Cursor, true))
		require.Len(t, f.ends, 1)
		assert.Equal(t, contract.DetectActivityResult{Worker: "press", Pages: 2, Emitted: 4, Duplicates: 1, More: true}, f.ends[0].result)
		require.NoError(t, f.ends[0].failure)
	})
}

// A detection that found nothing ends with its first cursor. The end may be lost, late or refused.
func TestTheOutcomeOfADetection(t *testing.T) {
	t.Parallel()
	for want, fault := range map[Code]error{
		"": nil, CodeLeaseLost: serviceerror.NewNotFound("no such activity"), CodeUnavailable: serviceerror.NewUnavailable("no"), CodeInvalid: serviceerror.NewInvalidArgument("too large"),
	} {
		synctest.Test(t, func(t *testing.T) {
			f, _, got, l := detecting(t)
			f.faults.end = fault
			_ = requireCode(t, want, l.Detected(t.Context(), got.Cursor, false))
			assert.Equal(t, contract.DetectActivityResult{Worker: "press"}, f.ends[0].result)
		})
	}
}

// A run that is full gets no further page; the rest is counted. Single faults do not stop the others.
func TestProposalsThatAreNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, got, l := detecting(t)
		bad := jobtype.Proposal{DedupeKey: "bad", Params: []byte(`[`)}
		page, err := l.Propose(t.Context(), got.Cursor, append(proposals("a"), bad))
		require.NoError(t, err)
		assert.Equal(t, []int{2, 1}, []int{page.Emitted, page.Invalid})
		assert.Contains(t, page.Faults, "bad")
		require.Len(t, f.pages, 1)
		assert.Len(t, f.pages[0].Proposals, 1)

		f.full = true
		page, err = l.Propose(t.Context(), page.Cursor, proposals("b"))
		require.NoError(t, err)
		assert.True(t, page.Full)
		assert.Empty(t, page.Faults, "the faults of an earlier page")
		page, err = l.Propose(t.Context(), page.Cursor, proposals("c", "d"))
		require.NoError(t, err)
		assert.Equal(t, []any{true, 5, 2, 1, ""}, []any{page.Full, page.Emitted, page.Surplus, page.Invalid, page.Faults})
		assert.Len(t, f.pages, 2)
	})
}

// A page is cut where it would be too large for the run.
func TestManyProposals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, got, l := detecting(t)
		keys := make([]string, contract.MaxPageProposals+1)
		for i := range keys {
			keys[i] = fmt.Sprint("k", i)
		}
		page, err := l.Propose(t.Context(), got.Cursor, proposals(keys...))
		require.NoError(t, err)
		require.Len(t, f.pages, 2)
		assert.Equal(t, []int{contract.MaxPageProposals, 1}, []int{len(f.pages[0].Proposals), len(f.pages[1].Proposals)})
		assert.Equal(t, []int{0, 1}, []int{f.pages[0].Seq, f.pages[1].Seq})
		require.NoError(t, l.Detected(t.Context(), page.Cursor, false))
		result, _ := f.ends[0].result.(contract.DetectActivityResult)
		assert.Equal(t, 2, result.Pages)
	})
}

// After a page that the run did not take, the earlier cursor stays valid.
func TestPagesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	for want, fault := range map[Code]error{
		CodeLeaseLost:   serviceerror.NewNotFound("no such workflow"),
		CodeInvalid:     temporal.NewNonRetryableApplicationError("the attempt is over", "STALE", nil),
		CodeUnavailable: serviceerror.NewUnavailable("no"),
	} {
		synctest.Test(t, func(t *testing.T) {
			f, _, got, l := detecting(t)
			f.faults.page = fault
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // As the client's patience ends.
			defer cancel()
			_, err := l.Propose(ctx, got.Cursor, proposals("a"))
			_ = requireCode(t, want, err)
			assert.Equal(t, want == CodeUnavailable, len(f.pages) > 1, "only an unavailable server is asked again")
			f.faults.page = nil
			page, err := l.Propose(t.Context(), got.Cursor, proposals("a"))
			require.NoError(t, err)
			assert.Equal(t, 1, page.Emitted)
			assert.Zero(t, f.pages[len(f.pages)-1].Seq)
		})
	}
}

// A cursor belongs to one detection and one worker.
func TestCursorsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w, got, l := detecting(t)
		f.service.tasks = append(f.service.tasks, task("t2", detection, 0), task("t3", job(nil), 0))
		other, err := w.PollDetection(t.Context(), 0)
		require.NoError(t, err)
		assert.True(t, other.Deadline.IsZero())
		work, err := w.PollJob(t.Context(), PollInput{})
		require.NoError(t, err)
		ofJob, err := w.Lease(work.Lease)
		require.NoError(t, err)
		stranger := l
		stranger.leased.Worker = "mill"
		for name, row := range map[string]struct {
			lease  Lease
			cursor string
			want   Code
		}{
			"another detection": {l, other.Cursor, CodeNotYours},
			"another worker":    {stranger, got.Cursor, CodeNotYours},
			"a lease":           {l, got.Lease, CodeBadToken},
			"nothing":           {l, "", CodeBadToken},
			"a job":             {ofJob, got.Cursor, CodeInvalid},
		} {
			_, err := row.lease.Propose(t.Context(), row.cursor, proposals("a"))
			_ = requireCode(t, row.want, err, name)
			_ = requireCode(t, row.want, row.lease.Detected(t.Context(), row.cursor, false), name)
		}
		assert.Empty(t, f.pages)
		assert.Empty(t, f.ends)
	})
}

// The cursor is part of each request, so it has the group's params only if its template needs them.
func TestACursorIsSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		large := detection
		large.Input.Params = []byte(`{"path":"` + strings.Repeat("x", 4000) + `"}`)
		for _, by := range []string{"", "{{.Params.path}}"} {
			large.BatchBy = by
			f.service.tasks = append(f.service.tasks, task("t1", large, 0))
			got, err := w.PollDetection(t.Context(), 0)
			require.NoError(t, err)
			assert.Equal(t, by != "", len(got.Cursor) > 4000, by)
			assert.Len(t, got.Params, len(large.Input.Params))
		}
	})
}

// A detection that this worker cannot take goes back at once.
func TestDetectionsThatAreReturned(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		input    any
		standing contract.WorkerSettings
		hangsUp  bool
		want     contract.FailureKind
	}{
		"not readable": {"text", contract.WorkerSettings{Known: true}, false, contract.FailurePermanent},
		"held":         {detection, contract.WorkerSettings{Known: true, Held: true}, false, contract.FailureDraining},
		"hung up":      {detection, contract.WorkerSettings{Known: true}, true, contract.FailureDraining},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, w := registered(t)
			f.known[press.incarnation()] = row.standing
			f.service.tasks = append(f.service.tasks, task("t1", row.input, 0))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.hangsUp {
				f.service.polled = cancel
			}
			got, err := w.PollDetection(ctx, time.Second)
			assert.Equal(t, row.hangsUp, err != nil, "%s: %v", name, err)
			assert.Nil(t, got, name)
			require.Len(t, f.ends, 1, name)
			failed, ok := errors.AsType[*temporal.ApplicationError](f.ends[0].failure)
			require.True(t, ok, name)
			assert.Equal(t, string(row.want), failed.Type(), name)
			assert.Equal(t, contract.DetectActivityResult{Worker: "press"}, f.ends[0].result)
		})
	}
}
