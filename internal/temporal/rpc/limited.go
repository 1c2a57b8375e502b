package rpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// updatesAtOnce bounds a client's updates of one workflow in flight. By default the server
	// accepts ten from all clients.
	updatesAtOnce = 4
	// limitedPause is the shortest pause before a refused update is sent again. limitedSpread is
	// the first random addition to it, which doubles limitedDoublings times.
	limitedPause     = 20 * time.Millisecond
	limitedSpread    = 100 * time.Millisecond
	limitedDoublings = 5
)

// Updates sends updates in a way that avoids refusals. A refusal is expensive: the server drops the workflow
// task with all updates of that workflow in flight, and they begin again (docs/adr/0079).
type Updates struct {
	mu sync.Mutex
	// Workflows with updates in flight.
	queues map[string]*updateQueue
}

// updateQueue limits the updates of one workflow to updatesAtOnce.
type updateQueue struct {
	users  int
	places chan struct{}
}

// Send is a client interceptor. It bounds the concurrent updates of one workflow, and repeats an
// update that the server refuses because of updates in flight. The request has the update's id,
// so a repetition has no second effect.
func (u *Updates) Send(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if name := path.Base(method); name != "UpdateWorkflowExecution" && name != "ExecuteMultiOperation" {
		return invoke(ctx, method, req, reply, cc, options...)
	}
	release, err := u.acquire(ctx, updated(req))
	if err != nil {
		return err
	}
	defer release()
	err = invoke(ctx, method, req, reply, cc, options...)
	for attempt := 0; isLimited(err); attempt++ {
		spread := limitedSpread << min(attempt, limitedDoublings)
		if Wait(ctx, limitedPause+rand.N(spread)) != nil {
			return err
		}
		err = invoke(ctx, method, req, reply, cc, options...)
	}
	return err
}

// updated returns the id of the workflow that a request updates.
func updated(req any) string {
	switch r := req.(type) {
	case *workflowservice.UpdateWorkflowExecutionRequest:
		return r.GetWorkflowExecution().GetWorkflowId()
	case *workflowservice.ExecuteMultiOperationRequest:
		for _, operation := range r.GetOperations() {
			if update := operation.GetUpdateWorkflow(); update != nil {
				return update.GetWorkflowExecution().GetWorkflowId()
			}
		}
	}
	return ""
}

// acquire waits for a place among the updates of a workflow.
func (u *Updates) acquire(ctx context.Context, workflowID string) (release func(), err error) {
	u.mu.Lock()
	queue := u.queues[workflowID]
	if queue == nil {
		queue = &updateQueue{places: make(chan struct{}, updatesAtOnce)}
		if u.queues == nil {
			u.queues = map[string]*updateQueue{}
		}
		u.queues[workflowID] = queue
	}
	queue.users++
	u.mu.Unlock()
	leave := func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if queue.users--; queue.users == 0 {
			delete(u.queues, workflowID)
		}
	}
	select {
	case queue.places <- struct{}{}:
		return func() { <-queue.places; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// isLimited reports whether the server refused because of updates in flight.
func isLimited(err error) bool {
	if status.Code(err) != codes.ResourceExhausted {
		return false
	}
	err = serviceerror.FromStatus(status.Convert(err))
	refusals := []error{err}
	if several, ok := errors.AsType[*serviceerror.MultiOperationExecution](err); ok {
		refusals = several.OperationErrors()
	}
	for _, refusal := range refusals {
		exhausted, ok := errors.AsType[*serviceerror.ResourceExhausted](refusal)
		if ok && exhausted.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT {
			return true
		}
	}
	return false
}
