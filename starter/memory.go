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

// memory answers the queries of one command to open runs while no control plane does. A run that
// was recalled once answers from the same state until the end of the command.
type memory struct {
	mu   sync.Mutex
	runs map[string]Recalled
	down *ControlPlaneDownError
}

type memoryKey struct{}

// WithMemory returns a context whose queries to open runs are answered from their histories if no
// control plane answers.
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

// memoryOf returns the memory for queries to ref; nil: only a control plane answers them.
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

// RecallOf returns a [*ControlPlaneDownError] if queries of the context were answered from
// histories, else nil.
func RecallOf(ctx context.Context) error {
	if at := AsOf(ctx); !at.IsZero() {
		down := *inMemory(ctx).down
		down.AsOf = at
		return &down
	}
	return nil
}

// AsOf returns the time of the oldest state of a run that answered queries of the context; zero:
// none did.
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

// absent reports whether the command knows that no control plane answers.
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

// absentNow keeps the first error which shows that no control plane answers.
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
