package feed

import (
	"context"
	"strings"
	"time"
)

// Probe returns the progress of a workflow as a text, and whether it is over.
type Probe func(ctx context.Context, workflowID string) (state string, over bool, err error)

// leastPatrol bounds the rate of requests, since viewers may name any number of runs.
const leastPatrol = 50 * time.Millisecond

// Patrol probes each workflow of viewed topics within every, so viewers see changes by other control planes. More
// than 50 workflows per 2.5 s take longer. Call Patrol before the first [Hub.Join].
func (h *Hub) Patrol(every time.Duration, probe Probe) {
	h.every, h.probe = every, probe
}

func (h *Hub) guard() {
	awake := false
	for _, f := range h.topics {
		awake = awake || f.stop != nil
	}
	switch {
	case awake && h.home == nil && h.probe != nil:
		ctx, home := context.WithCancel(context.Background())
		h.home, h.states = home, map[string]string{}
		go h.patrol(ctx)
	case !awake && h.home != nil:
		h.home()
		h.home = nil
	}
}

const overState = "over"

func (h *Hub) patrol(ctx context.Context) {
	for ctx.Err() == nil {
		ids := h.watched()
		for _, id := range ids {
			if !rest(ctx, max(h.every/time.Duration(len(ids)), min(leastPatrol, h.every))) {
				return
			}
			limited, cancel := context.WithTimeout(ctx, fetchWithin)
			state, over, err := h.probe(limited, id)
			cancel()
			if over {
				state = overState
			}
			if err == nil {
				h.noted(id, state)
			}
		}
		if len(ids) == 0 && !rest(ctx, h.every) {
			return
		}
	}
}

func rest(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *Hub) watched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	seen := map[string]bool{}
	for _, f := range h.topics {
		for _, id := range f.Of {
			if f.stop != nil && !strings.HasSuffix(id, "/") && !seen[id] && h.states[id] != overState {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// The first look counts as a change, since earlier changes were not seen.
func (h *Hub) noted(id, state string) {
	h.mu.Lock()
	changed := h.states[id] != state
	h.states[id] = state
	h.mu.Unlock()
	if changed {
		h.Changed(id)
	}
}
