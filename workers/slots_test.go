package workers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"
	"pgregory.net/rapid"
)

type slotCall struct {
	worker.SlotReleaseInfo
	queue  string
	permit *worker.SlotPermit
}

func (c slotCall) TaskQueue() string                  { return c.queue }
func (slotCall) TaskQueueKind() enumspb.TaskQueueKind { return enumspb.TASK_QUEUE_KIND_NORMAL }
func (slotCall) WorkerBuildId() string                { return "" } //nolint:revive,staticcheck // the SDK's name
func (slotCall) WorkerIdentity() string               { return "" }
func (slotCall) NumIssuedSlots() int                  { return 0 }
func (c slotCall) Permit() *worker.SlotPermit         { return c.permit }

func (s *slots) try(queue string) *worker.SlotPermit { return s.TryReserveSlot(slotCall{queue: queue}) }
func (s *slots) markUsed(permit *worker.SlotPermit)  { s.MarkSlotUsed(slotCall{permit: permit}) }
func (s *slots) release(permit *worker.SlotPermit)   { s.ReleaseSlot(slotCall{permit: permit}) }

func TestSlotsIdleQueuesStarveNobody(t *testing.T) {
	t.Parallel()
	s := newSlots(2)
	queues := []string{"a", "b", "c", "d", "e"}
	for _, queue := range queues {
		assert.NotNil(t, s.try(queue), "every queue may have one poll open")
	}
	for _, queue := range queues {
		assert.Nil(t, s.try(queue), "but not two, when five polls are open for two slots")
	}
}

// TestSlotsPollsFollowTasks: a queue has one open poll, and one more for each task within pollWindow.
func TestSlotsPollsFollowTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(20)
		first := s.try("a")
		require.NotNil(t, first)
		assert.Nil(t, s.try("a"), "an idle queue has one poll")

		s.markUsed(first)
		second, third := s.try("a"), s.try("a")
		require.NotNil(t, second)
		require.NotNil(t, third, "a task came, so two polls are open")
		assert.Nil(t, s.try("a"))
		require.NotNil(t, s.try("b"))
		assert.Nil(t, s.try("b"), "no task came from the other queue")

		time.Sleep(pollWindow)
		s.release(second)
		second = s.try("a")
		require.NotNil(t, second, "the task came within the window")
		time.Sleep(time.Nanosecond)
		s.release(second)
		assert.Nil(t, s.try("a"), "the task came before the window, and a poll is open")
	})
}

// TestSlotsPollsAreBounded: a fast queue has maxPollers open polls, and only their times are kept.
func TestSlotsPollsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(100)
		for range 50 {
			permit := s.try("a")
			require.NotNil(t, permit)
			s.markUsed(permit)
		}
		for range maxPollers {
			require.NotNil(t, s.try("a"))
		}
		assert.Nil(t, s.try("a"))
		assert.Len(t, s.came["a"], maxPollers-1)
	})
}

func TestSlotsOneQueueUsesAllOfThem(t *testing.T) {
	t.Parallel()
	s := newSlots(3)
	first := s.try("a")
	s.markUsed(first)
	second, third := s.try("a"), s.try("a")
	require.NotNil(t, second)
	require.NotNil(t, third)
	s.markUsed(second)
	assert.Nil(t, s.try("a"), "two in use and one open are three")
	s.release(first)
	assert.NotNil(t, s.try("a"))
}

func TestSlotsWaitForAFreeSlotAResizeAndTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		held := s.try("a")
		s.markUsed(held)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		var permit *worker.SlotPermit
		reserve := func() {
			var err error
			permit, err = s.ReserveSlot(ctx, slotCall{queue: "b"})
			got <- err
		}

		go reserve()
		synctest.Wait()
		s.release(held)
		require.NoError(t, <-got, "a released slot is taken")
		s.markUsed(permit)

		go reserve()
		synctest.Wait()
		s.Resize(3)
		require.NoError(t, <-got, "a larger cap opens another poll")
		assert.Equal(t, 3, s.MaxSlots())

		s.Resize(1)
		go reserve()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-got, context.Canceled)
	})
}

// TestSlotsNeverOvershoot: at most one task per further queue is in use above the cap, and a
// queue without a poll gets one while a slot is free.
func TestSlotsNeverOvershoot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		queues := []string{"a", "b", "c", "d"}
		limit := rapid.IntRange(1, 6).Draw(t, "cap")
		s := newSlots(limit)
		var open, used []*worker.SlotPermit
		pick := func(from *[]*worker.SlotPermit) *worker.SlotPermit {
			i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
			chosen := (*from)[i]
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			return chosen
		}
		t.Repeat(map[string]func(*rapid.T){
			"poll": func(t *rapid.T) {
				if permit := s.try(rapid.SampledFrom(queues).Draw(t, "queue")); permit != nil {
					open = append(open, permit)
				}
			},
			"task": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("no poll is open")
				}
				permit := pick(&open)
				s.markUsed(permit)
				used = append(used, permit)
			},
			"empty poll": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("no poll is open")
				}
				s.release(pick(&open))
			},
			"done": func(t *rapid.T) {
				if len(used) == 0 {
					t.Skip("nothing runs")
				}
				s.release(pick(&used))
			},
			"": func(t *rapid.T) {
				assert.Equal(t, len(used), s.Used())
				assert.LessOrEqual(t, len(used), limit+len(queues)-1)
				if len(used) >= limit {
					return
				}
				for _, queue := range queues {
					if s.open[queue] == 0 {
						permit := s.try(queue)
						assert.NotNil(t, permit)
						s.release(permit)
					}
				}
			},
		})
	})
}
