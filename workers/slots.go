package workers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// slots is a slot supplier for several queues that share one cap. It implements [worker.SlotSupplier].
//
// A slot is reserved before a poll and kept while the poll waits, up to a minute on an empty queue. So this supplier
// counts the slots in use: every queue may have one open poll while a slot is free, and more only while all open
// polls together would still fit. At most one task per further queue can arrive above the cap; the [gate] holds or refuses it.
//
// A queue may have one open poll more for each task that it gave within [pollWindow], at most [maxPollers]. The SDK's
// scaling of pollers raises their number only while tasks come faster and faster.
type slots struct {
	mu   sync.Mutex
	cap  int
	used int
	// open counts reservations that are not in use yet, by queue.
	open map[string]int
	// came has the times of the last maxPollers-1 tasks, by queue.
	came    map[string][]time.Time
	waiting []chan struct{}
	// own is the queue that a full worker polls, too, while fewer than maxWaiting tasks wait at its gate.
	own    string
	atGate func() int
	// held is the queue prefix that must not be polled; empty for none.
	held string
}

// pollWindow is short: one poll alone brings a task every 5 to 20 ms.
const pollWindow = 100 * time.Millisecond

// maxWaiting bounds the tasks that a full worker takes to refuse them. More tasks stay in the queue.
const maxWaiting = maxPollers

// answer makes a full worker take tasks of its own queue, one poll at a time: a task left in the queue would look as
// if the worker were dead. A taken task gets a slot within [gateMaxWait], or a refusal. Call answer before the first poll.
func (s *slots) answer(own string, atGate func() int) { s.own, s.atGate = own, atGate }

type permit struct {
	queue string
	used  bool
}

func newSlots(limit int) *slots {
	return &slots{cap: limit, open: make(map[string]int), came: make(map[string][]time.Time)}
}

// ReserveSlot implements [worker.SlotSupplier]; it waits until a poll makes sense.
func (s *slots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		permit, changed := s.reserve(info.TaskQueue(), true)
		if permit != nil {
			return permit, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryReserveSlot implements [worker.SlotSupplier] for eager activities, which node workers do not have.
func (s *slots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	permit, _ := s.reserve(info.TaskQueue(), false)
	return permit
}

func (s *slots) reserve(queue string, wait bool) (reserved *worker.SlotPermit, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free(queue) {
		s.open[queue]++
		return &worker.SlotPermit{UserData: &permit{queue: queue}}, nil
	}
	if !wait {
		return nil, nil
	}
	wake := make(chan struct{})
	s.waiting = append(s.waiting, wake)
	return nil, wake
}

func (s *slots) free(queue string) bool {
	if s.holds(queue) {
		return false
	}
	if s.used >= s.cap {
		return s.atGate != nil && queue == s.own && s.open[queue] == 0 && s.atGate() < maxWaiting
	}
	if s.open[queue] == 0 {
		return true
	}
	if s.open[queue] > s.recent(queue) {
		return false
	}
	total := s.used
	for _, open := range s.open {
		total += open
	}
	return total < s.cap
}

func (s *slots) recent(queue string) int {
	since := time.Now().Add(-pollWindow)
	s.came[queue] = slices.DeleteFunc(s.came[queue], since.After)
	return len(s.came[queue])
}

// MarkSlotUsed implements [worker.SlotSupplier].
func (s *slots) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	reserved, ok := info.Permit().UserData.(*permit)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reserved.used {
		reserved.used = true
		s.used++
		s.closePoll(reserved.queue)
		came := append(s.came[reserved.queue], time.Now())
		s.came[reserved.queue] = came[max(0, len(came)-(maxPollers-1)):]
	}
	s.wake()
}

// ReleaseSlot implements [worker.SlotSupplier].
func (s *slots) ReleaseSlot(info worker.SlotReleaseInfo) {
	reserved, ok := info.Permit().UserData.(*permit)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reserved.used {
		s.used--
	} else {
		s.closePoll(reserved.queue)
	}
	s.wake()
}

func (s *slots) closePoll(queue string) {
	s.open[queue]--
	if s.open[queue] == 0 {
		delete(s.open, queue)
	}
}

// wake makes every waiting reservation retry; the caller holds the lock.
func (s *slots) wake() {
	for _, wake := range s.waiting {
		close(wake)
	}
	s.waiting = nil
}

// MaxSlots implements [worker.SlotSupplier]; the worker's heartbeat reports it.
func (s *slots) MaxSlots() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cap
}

// Resize changes the cap. A running job above a smaller cap continues.
func (s *slots) Resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cap = limit
	s.wake()
}

// Hold stops polls of the queues with the prefix; empty polls all again. An open poll may still return a task.
func (s *slots) Hold(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = prefix
	s.wake()
}

// Held reports whether the queue must not be polled.
func (s *slots) Held(queue string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds(queue)
}

func (s *slots) holds(queue string) bool { return s.held != "" && strings.HasPrefix(queue, s.held) }

// Used counts the slots in use.
func (s *slots) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
