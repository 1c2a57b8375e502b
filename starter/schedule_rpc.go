package starter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
)

// The SDK's ScheduleClient sends updates without a conflict token: of two
// writers one would lose silently. These calls are the same requests, with the
// token and with a request id that survives retries.

const (
	// callTimeout bounds one attempt of a call.
	callTimeout = 10 * time.Second
	// callPatience is how long a call that the server could not take is
	// repeated.
	callPatience = 20 * time.Second
	// schedulePage is how many schedules one list call asks for.
	schedulePage = 500
)

// held is a Schedule as the server holds it.
type held struct {
	schedule *schedulepb.Schedule
	info     *schedulepb.ScheduleInfo
	memo     *commonpb.Memo
	// token proves on an update that nothing has changed in between.
	token []byte
}

// read describes a Schedule; found is false if there is none.
func (s schedules) read(ctx context.Context, name string) (state held, found bool, err error) {
	var response *workflowservice.DescribeScheduleResponse
	err = retryCall(ctx, func(ctx context.Context) error {
		var callErr error
		response, callErr = s.client.temporal.WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{
			Namespace: s.client.namespace, ScheduleId: contract.ScheduleID(name),
		})
		return callErr
	})
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return held{}, false, nil
	}
	if err != nil {
		return held{}, false, fmt.Errorf("describe Schedule %s: %w", contract.ScheduleID(name), err)
	}
	return held{
		schedule: response.GetSchedule(), info: response.GetInfo(), memo: response.GetMemo(), token: response.GetConflictToken(),
	}, true, nil
}

// create reports false if somebody else has created the Schedule meanwhile.
func (s schedules) create(ctx context.Context, name string, schedule *schedulepb.Schedule) (created bool, err error) {
	memo, err := s.ownerMemo()
	if err != nil {
		return false, err
	}
	request := &workflowservice.CreateScheduleRequest{
		Namespace: s.client.namespace, ScheduleId: contract.ScheduleID(name), Schedule: schedule,
		Memo: memo, Identity: defaultIdentity(), RequestId: rand.Text(),
	}
	err = retryCall(ctx, func(ctx context.Context) error {
		_, callErr := s.client.temporal.WorkflowService().CreateSchedule(ctx, request)
		return callErr
	})
	if codeOf(err) == codes.AlreadyExists {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create Schedule %s: %w", request.GetScheduleId(), explained(err))
	}
	return true, nil
}

// update writes the schedule if the server still holds what the token saw. An
// old token is refused by some servers and silently ignored by others: the
// caller reads again and compares.
func (s schedules) update(ctx context.Context, name string, schedule *schedulepb.Schedule, token []byte) error {
	request := &workflowservice.UpdateScheduleRequest{
		Namespace: s.client.namespace, ScheduleId: contract.ScheduleID(name), Schedule: schedule,
		ConflictToken: token, Identity: defaultIdentity(), RequestId: rand.Text(),
	}
	err := retryCall(ctx, func(ctx context.Context) error {
		_, callErr := s.client.temporal.WorkflowService().UpdateSchedule(ctx, request)
		return callErr
	})
	switch codeOf(err) {
	case codes.FailedPrecondition, codes.NotFound, codes.OK:
		return nil
	default:
		return fmt.Errorf("update Schedule %s: %w", request.GetScheduleId(), explained(err))
	}
}

func (s schedules) patch(ctx context.Context, name string, patch *schedulepb.SchedulePatch) error {
	request := &workflowservice.PatchScheduleRequest{
		Namespace: s.client.namespace, ScheduleId: contract.ScheduleID(name), Patch: patch,
		Identity: defaultIdentity(), RequestId: rand.Text(),
	}
	err := retryCall(ctx, func(ctx context.Context) error {
		_, callErr := s.client.temporal.WorkflowService().PatchSchedule(ctx, request)
		return callErr
	})
	if err != nil {
		return fmt.Errorf("change Schedule %s: %w", request.GetScheduleId(), err)
	}
	return nil
}

// remove deletes a Schedule; one that is gone already is fine.
func (s schedules) remove(ctx context.Context, name string) error {
	err := retryCall(ctx, func(ctx context.Context) error {
		_, callErr := s.client.temporal.WorkflowService().DeleteSchedule(ctx, &workflowservice.DeleteScheduleRequest{
			Namespace: s.client.namespace, ScheduleId: contract.ScheduleID(name), Identity: defaultIdentity(),
		})
		return callErr
	})
	if err != nil && codeOf(err) != codes.NotFound {
		return fmt.Errorf("delete Schedule %s: %w", contract.ScheduleID(name), err)
	}
	return nil
}

// names lists the job types whose Schedules Roundsman owns, from visibility:
// one that was made or deleted a moment ago may be missing or still there.
func (s schedules) names(ctx context.Context) ([]string, error) {
	var names []string
	request := &workflowservice.ListSchedulesRequest{Namespace: s.client.namespace, MaximumPageSize: schedulePage}
	for {
		var response *workflowservice.ListSchedulesResponse
		err := retryCall(ctx, func(ctx context.Context) error {
			var callErr error
			response, callErr = s.client.temporal.WorkflowService().ListSchedules(ctx, request)
			return callErr
		})
		if err != nil {
			return nil, fmt.Errorf("list Schedules: %w", err)
		}
		for _, entry := range response.GetSchedules() {
			name, ours := contract.JobTypeOfSchedule(entry.GetScheduleId())
			if ours && entry.GetInfo().GetWorkflowType().GetName() == contract.JobGroupWorkflow && s.owned(entry.GetMemo()) {
				names = append(names, name)
			}
		}
		if request.NextPageToken = response.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
			return names, nil
		}
	}
}

// retryCall repeats a call that the server could not take. The requests carry
// an id, so that one that was taken after all has its effect once.
func retryCall(ctx context.Context, call func(context.Context) error) error {
	begun := time.Now()
	for attempt := 1; ; attempt++ {
		attemptCtx, cancel := context.WithTimeout(ctx, callTimeout)
		err := call(attemptCtx)
		cancel()
		if ctx.Err() != nil && err != nil {
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
		if !transient(err) || time.Since(begun) > callPatience {
			return err
		}
		if err := pause(ctx, min(50*time.Millisecond<<min(attempt, 6), 2*time.Second)); err != nil {
			return err
		}
	}
}

func transient(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

func codeOf(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	return serviceerror.ToStatus(err).Code()
}

// explained adds what to do about a refusal that a new namespace meets.
func explained(err error) error {
	if err != nil && strings.Contains(err.Error(), contract.SearchAttributeJobType) {
		return fmt.Errorf("%w: the namespace lacks a search attribute; `roundsman doctor` says how to create it", err)
	}
	return err
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
