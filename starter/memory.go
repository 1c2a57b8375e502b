package starter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// Recall rebuilds the state of an open run from its history.
type Recall func(ctx context.Context, temporal client.Client, run RunRef) (Recalled, error)

// Recalled is the state of a run at the end of its last workflow task.
type Recalled struct {
	At    time.Time
	Query func(name string, args ...any) (any, error)
}

// memory answers one command's queries to open runs while no control plane does, always from the same state.
type memory struct {
	mu   sync.Mutex
	runs map[string]Recalled
	down *ControlPlaneDownError
}

type memoryKey struct{}

// WithMemory makes queries of the context use histories if no control plane answers.
func WithMemory(ctx context.Context) context.Context {
	if inMemory(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, memoryKey{}, &memory{runs: map[string]Recalled{}})
}

func inMemory(ctx context.Context) *memory {
	m, _ := ctx.Value(memoryKey{}).(*memory)
	return m
}

func (c *Client) memoryOf(ctx context.Context, ref RunRef) *memory {
	if c.recall == nil || isEntity(ref) {
		return nil
	}
	return inMemory(ctx)
}

func isEntity(ref RunRef) bool {
	switch ref.WorkflowID {
	case contract.FleetWorkflowID, contract.AdmissionWorkflowID, contract.AuditWorkflowID, contract.NotificationsWorkflowID:
		return true
	}
	return false
}

// RecallOf returns a [*ControlPlaneDownError] if queries of the context were answered from histories.
func RecallOf(ctx context.Context) error {
	if at := AsOf(ctx); !at.IsZero() {
		down := *inMemory(ctx).down
		down.AsOf = at
		return &down
	}
	return nil
}

// AsOf returns the time of the oldest recalled state of the context; zero: none.
func AsOf(ctx context.Context) (oldest time.Time) {
	m := inMemory(ctx)
	if m == nil {
		return oldest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range m.runs {
		if oldest.IsZero() || state.At.Before(oldest) {
			oldest = state.At
		}
	}
	return oldest
}

func (m *memory) absent() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down != nil
}

// remember answers a query from the history of a run.
func remember[T any](ctx context.Context, c *Client, m *memory, ref RunRef, name string, args ...any) (answer T, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, known := m.runs[ref.WorkflowID]
	if !known {
		if state, err = c.recall(ctx, c.temporal, ref); err != nil {
			down := *m.down
			down.Forgotten = err
			return answer, &down
		}
		m.runs[ref.WorkflowID] = state
	}
	result, err := state.Query(name, args...)
	if err != nil {
		return answer, fmt.Errorf("query %s of the state of %s: %w", name, ref.WorkflowID, err)
	}
	// Encoded as an answer is, so that the caller and the state share nothing.
	payload, err := DataConverter().ToPayload(result)
	if err == nil {
		err = DataConverter().FromPayload(payload, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("answer of query %s of the state of %s: %w", name, ref.WorkflowID, err)
	}
	return answer, nil
}

func (m *memory) absentNow(err error) bool {
	down, is := errors.AsType[*ControlPlaneDownError](err)
	if m == nil || !is {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		m.down = down
	}
	return true
}
