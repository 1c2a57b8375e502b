package workers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

type told struct {
	mu    sync.Mutex
	to    []string
	in    []contract.WorkerRoomInput
	fault error
}

func (s *told) answer(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func notifying(t *testing.T, g *gate) (*notifier, *told) {
	t.Helper()
	said := &told{}
	h := &notifier{
		refused: &refusals{}, gate: g, worker: "node-a", instance: "i1", logger: slog.New(slog.DiscardHandler),
		others: func(string, string) (all, ofHandler int) { return g.Used(), 1 },
		signal: func(_ context.Context, workflow string, in contract.WorkerRoomInput) error {
			said.mu.Lock()
			defer said.mu.Unlock()
			said.to, said.in = append(said.to, workflow), append(said.in, in)
			return said.fault
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return h, said
}

func (h *notifier) refuse(workflow, handler string) {
	h.refused.note(refusal{workflow, handler})
	h.gate.Poke()
}

func pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}

func TestWhoWasSentBackIsToldThatThereIsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, nil)
		h, said := notifying(t, g)
		leave, ok := g.enter(t.Context(), "x", "tidy", 0)
		require.True(t, ok)
		h.refuse("group/b", "x")
		h.refuse("group/c", "x")
		h.refuse("group/b", "x")
		pass(time.Minute)
		assert.Empty(t, said.to, "there is none")

		leave()
		pass(roomSettle / 2)
		leave, ok = g.enter(t.Context(), "x", "tidy", 0)
		require.True(t, ok, "whoever had the slot takes it again")
		pass(time.Minute)
		assert.Empty(t, said.to)

		leave()
		pass(roomSettle + time.Millisecond)
		assert.Equal(t, []string{"group/b"}, said.to, "one, the first")
		_, ok = g.enter(t.Context(), "x", "tidy", 0)
		require.True(t, ok, "and takes the slot")
		pass(time.Minute)
		assert.Len(t, said.to, 1)
		assert.Equal(t, contract.WorkerRoomInput{Worker: "node-a", Instance: "i1", Handler: "x", At: said.in[0].At, OthersOfHandler: 1}, said.in[0])
		g.Resize(2)
		pass(time.Minute)
		assert.Equal(t, []string{"group/b", "group/c"}, said.to)
	})
}

// Free slots are no room for a handler whose cap is reached.
func TestOnlyWhoHasRoomIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3, map[string]int{"x": 1})
		h, said := notifying(t, g)
		leave, ok := g.enter(t.Context(), "x", "tidy", 0)
		require.True(t, ok)
		h.refuse("group/x", "x")
		h.refuse("group/y", "y")
		pass(time.Minute)
		assert.Equal(t, []string{"group/y"}, said.to)
		leave()
		pass(time.Minute)
		assert.Equal(t, []string{"group/y", "group/x"}, said.to)
	})
}

// A message that the server missed is repeated later; an ended group is dropped.
func TestTellingIsRepeatedUntilItIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, said := notifying(t, newGate(1, nil))
		said.answer(errors.New("away"))
		h.refuse("group/x", "x")
		pass(3 * (roomRetry + roomSettle))
		assert.Len(t, said.to, 3)
		said.answer(serviceerror.NewNotFound("it has ended"))
		pass(time.Minute)
		assert.Len(t, said.to, 4)
		for i := range 2 * maxRefusals {
			h.refused.note(refusal{"group/" + string(rune('a'+i)), "x"})
		}
		assert.Len(t, h.refused.list, maxRefusals)
	})
}

// A run that sends to a shared queue does not choose workers.
func TestOnlyWhoChoseTheWorkerIsTold(t *testing.T) {
	t.Parallel()
	g := &gates{execute: newGate(1, nil)}
	args := []any{contract.ExecuteInput{Handler: "x"}}
	from := func(queue string) activity.Info {
		return activity.Info{TaskQueue: queue, WorkflowExecution: workflow.Execution{ID: "group/" + queue}}
	}
	g.refuse(args, from(contract.SharedQueue("x")))
	g.refuse([]any{contract.DetectActivityInput{}}, from(contract.WorkerDetectQueue("node-a", "i1")))
	assert.True(t, g.refused.empty())
	own := contract.WorkerQueue("node-a", "i1")
	g.refuse(args, from(own))
	assert.Equal(t, []refusal{{"group/" + own, "x"}}, g.refused.list)
}
