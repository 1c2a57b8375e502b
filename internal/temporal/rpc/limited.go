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
	// By default the server accepts ten updates of a workflow from all clients.
	updatesAtOnce = 4
	// limitedSpread is the first random addition to the pause, which doubles limitedDoublings times.
	limitedPause     = 20 * time.Millisecond
	limitedSpread    = 100 * time.Millisecond
	limitedDoublings = 5
)

// Updates avoids refusals of updates. At a refusal the server drops the workflow task with all updates in flight
// (docs/adr/0079).
type Updates struct {
	mu     sync.Mutex
	queues map[string]*updateQueue
}

type updateQueue struct {
	users  int
	places chan struct{}
}

// Send is a client interceptor. It bounds the concurrent updates of one workflow, and repeats refused ones. The
// request has the update's id, so a repetition has no second effect.
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
