package jobtypes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// The SDK's ScheduleClient sends updates without a conflict token, so one of two writers would lose unnoticed.

const schedulePage = 500

type held struct {
	schedule *schedulepb.Schedule
	info     *schedulepb.ScheduleInfo
	memo     *commonpb.Memo
	token    []byte
}

func (s schedules) read(ctx context.Context, name string) (state held, found bool, err error) {
	var response *workflowservice.DescribeScheduleResponse
	err = s.patience.repeat(ctx, func() (callErr error) {
		response, callErr = s.client.DescribeSchedule(ctx, name)
		return callErr
	})
	if errors.Is(err, starter.ErrNotFound) {
		return held{}, false, nil
	}
	if err != nil {
		return held{}, false, err
	}
	return held{
		schedule: response.GetSchedule(), info: response.GetInfo(), memo: response.GetMemo(), token: response.GetConflictToken(),
	}, true, nil
}

// retry is [rpc.Retry] with the patience of a plan or an apply.
func (s schedules) retry(ctx context.Context, call func(context.Context) error) error {
	return s.patience.repeat(ctx, func() error { return rpc.Retry(ctx, call) })
}

// The first run of runNow is part of the request, so a crash neither loses nor repeats it.
func (s schedules) create(ctx context.Context, name string, schedule *schedulepb.Schedule, runNow bool) (created bool, err error) {
	attributes, spec, err := s.digestOf(schedule)
	if err != nil {
		return false, err
	}
	memo, err := s.memo(spec)
	if err != nil {
		return false, err
	}
	request := &workflowservice.CreateScheduleRequest{
		Namespace: s.client.Namespace(), ScheduleId: contract.ScheduleID(name), Schedule: schedule,
		Memo: memo, SearchAttributes: attributes, Identity: s.client.Identity(), RequestId: rand.Text(),
	}
	if runNow {
		request.InitialPatch = &schedulepb.SchedulePatch{TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{}}
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		_, callErr := s.client.Temporal().WorkflowService().CreateSchedule(ctx, request)
		return callErr
	})
	if rpc.Code(err) == codes.AlreadyExists {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create Schedule %s: %w", request.GetScheduleId(), rpc.Advised(err))
	}
	return true, nil
}

// Some servers refuse an old token, others ignore the update, so the caller reads again and compares.
func (s schedules) update(ctx context.Context, name string, schedule *schedulepb.Schedule, token []byte) error {
	_, err := s.accepted(ctx, name, schedule, token)
	return err
}

func (s schedules) accepted(ctx context.Context, name string, schedule *schedulepb.Schedule, token []byte) (bool, error) {
	attributes, _, err := s.digestOf(schedule)
	if err != nil {
		return false, err
	}
	request := &workflowservice.UpdateScheduleRequest{
		Namespace: s.client.Namespace(), ScheduleId: contract.ScheduleID(name), Schedule: schedule, SearchAttributes: attributes,
		ConflictToken: token, Identity: s.client.Identity(), RequestId: rand.Text(),
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		_, callErr := s.client.Temporal().WorkflowService().UpdateSchedule(ctx, request)
		return callErr
	})
	switch rpc.Code(err) {
	case codes.OK:
		return true, nil
	case codes.FailedPrecondition, codes.NotFound:
		return false, nil
	default:
		return false, fmt.Errorf("update Schedule %s: %w", request.GetScheduleId(), rpc.Advised(err))
	}
}

func (s schedules) patch(ctx context.Context, name string, patch *schedulepb.SchedulePatch) error {
	request := &workflowservice.PatchScheduleRequest{
		Namespace: s.client.Namespace(), ScheduleId: contract.ScheduleID(name), Patch: patch,
		Identity: s.client.Identity(), RequestId: rand.Text(),
	}
	if repeated, is := starter.RequestOf(ctx); is {
		request.RequestId = repeated.ID
	}
	err := rpc.Retry(ctx, func(ctx context.Context) error {
		_, callErr := s.client.Temporal().WorkflowService().PatchSchedule(ctx, request)
		return callErr
	})
	if err != nil {
		return fmt.Errorf("change Schedule %s: %w", request.GetScheduleId(), err)
	}
	return nil
}

func (s schedules) remove(ctx context.Context, name string) error {
	err := s.retry(ctx, func(ctx context.Context) error {
		_, callErr := s.client.Temporal().WorkflowService().DeleteSchedule(ctx, &workflowservice.DeleteScheduleRequest{
			Namespace: s.client.Namespace(), ScheduleId: contract.ScheduleID(name), Identity: s.client.Identity(),
		})
		return callErr
	})
	if err != nil && rpc.Code(err) != codes.NotFound {
		return fmt.Errorf("delete Schedule %s: %w", contract.ScheduleID(name), err)
	}
	return nil
}
