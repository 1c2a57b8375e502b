package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
)

type lease struct {
	token   []byte
	timeout time.Duration
	since   time.Time
}

// hold ties an attempt to its lease, which changes when the run adopts the attempt.
type hold struct {
	mu      sync.Mutex
	lease   lease
	adopted chan struct{}
	// outcome is set once: from then on the lease stays.
	outcome *contract.ExecuteState
	// orphaned: the server ended the activity and the run has not adopted the attempt yet.
	orphaned bool
}

func newHold(first lease) *hold { return &hold{lease: first, adopted: make(chan struct{})} }

func (h *hold) current() (lease, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease, h.adopted
}

// adopt returns the outcome if the attempt has ended; the caller reports it through the new lease.
func (h *hold) adopt(next lease) (ended *contract.ExecuteState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outcome != nil {
		return h.outcome
	}
	h.lease, h.orphaned = next, false
	close(h.adopted)
	h.adopted = make(chan struct{})
	return nil
}

func (h *hold) seal(outcome contract.ExecuteState) lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outcome, h.orphaned = &outcome, false
	return h.lease
}

// awaitAdoption waits at most grace until the lease of adopted is replaced.
func (h *hold) awaitAdoption(ctx context.Context, adopted <-chan struct{}, grace time.Duration) bool {
	h.orphan(true)
	defer h.orphan(false)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-adopted:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (h *hold) orphan(orphaned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.orphaned = orphaned && h.outcome == nil
}

func (h *hold) describe() (orphaned bool, outcome *contract.ExecuteState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.orphaned, h.outcome
}
