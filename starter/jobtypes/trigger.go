package jobtypes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

const (
	// The server normally starts a triggered group within a second, after a restart within some more.
	triggerWait = 30 * time.Second
	// Some servers name the group of a trigger differently. After this time, another new action is taken for it.
	foreignActionAge = 3 * time.Second
	// The server's buffer holds 1,000 ticks and silently drops the rest.
	maxBackfill = 900
)

// Triggered is the result of a trigger.
type Triggered struct {
	starter.RunRef

	// Buffered is true if policy.overlap makes it wait for a running group.
	Buffered bool `json:"buffered,omitempty"`
	// Released is true if the group waited for its window and has begun.
	Released bool `json:"released,omitempty"`
}

// AlreadyRunningError means: policy.overlap dropped a trigger because the last group still runs.
type AlreadyRunningError struct {
	JobType string
	Running []starter.RunRef
	// Waits is true if another group waits already, which is all that buffer_one allows.
	Waits bool
}

// Error implements error.
func (e *AlreadyRunningError) Error() string {
	what := "a group"
	if len(e.Running) > 0 {
		what = e.Running[0].WorkflowID
	}
	why := "policy.overlap: skip"
	if e.Waits {
		why = "and the next one waits for its end already, policy.overlap: buffer_one"
	}
	return fmt.Sprintf("job type %s was not started: %s still runs (%s); watch it with `roundsman watch %s`, "+
		"cancel it with `roundsman cancel %s`, or set another overlap", e.JobType, what, why, what, what)
}

// Trigger starts a group now, also of a paused job type, and waits until it exists. If the last group still runs,
// policy.overlap decides: skip gives an [*AlreadyRunningError], and so does buffer_one behind a waiting group. If ctx ends
// after the request, the error is a [*starter.GivenUpError], and the group may start all the same.
func (c Client) Trigger(ctx context.Context, name string) (Triggered, error) {
	s := c.schedules()
	before, err := s.readOwned(ctx, name)
	if err != nil {
		return Triggered{}, err
	}
	at, was := c.tick(ctx, name, before)
	triggered := *cmp.Or(was, &Triggered{})
	if was == nil {
		triggered, err = s.triggerAt(ctx, name, at, before)
	}
	if triggered.WorkflowID != "" {
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.run", Object: triggered.WorkflowID})
	}
	return triggered, err
}

// A repeated request keeps the second of its first attempt, whose group may exist. That attempt may have been killed before
// it recorded the start; the audit log keeps one entry of a request.
func (c Client) tick(ctx context.Context, name string, before held) (time.Time, *Triggered) {
	request, repeatable := starter.RequestOf(ctx)
	if !repeatable {
		return freeSecond(name, before.info, time.Now()), nil
	}
	at := request.At.UTC().Truncate(time.Second)
	was, err := c.client.Runs().Describe(ctx, starter.RunRef{WorkflowID: groupAt(name, at)})
	if err != nil {
		return at, nil // Missing or unknown: triggering it again starts no second group.
	}
	return at, &Triggered{RunRef: was.RunRef}
}

func (s schedules) triggerAt(ctx context.Context, name string, at time.Time, before held) (Triggered, error) {
	err := s.patch(ctx, name, &schedulepb.SchedulePatch{
		TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{ScheduledTime: timestamppb.New(at)},
	})
	_, unanswered := errors.AsType[*serviceerror.DeadlineExceeded](err)
	switch {
	case err == nil:
		return s.awaitTriggered(ctx, name, groupAt(name, at), before.info)
	case unanswered || ctx.Err() != nil: // The server may have it.
		return leftAfter(ctx, name, groupAt(name, at), err)
	}
	return Triggered{}, err
}

func groupAt(name string, at time.Time) string {
	return contract.GroupWorkflowID(name) + "-" + at.UTC().Format(time.RFC3339)
}

// Ids have a resolution of one second, and a trigger may follow a tick or another trigger at once.
func freeSecond(name string, info *schedulepb.ScheduleInfo, now time.Time) time.Time {
	at := now.UTC().Truncate(time.Second)
	for started(info, groupAt(name, at)) != nil {
		at = at.Add(time.Second)
	}
	return at
}

func started(info *schedulepb.ScheduleInfo, workflowID string) *schedulepb.ScheduleActionResult {
	index := slices.IndexFunc(info.GetRecentActions(), func(action *schedulepb.ScheduleActionResult) bool {
		return action.GetStartWorkflowResult().GetWorkflowId() == workflowID
	})
	if index < 0 {
		return nil
	}
	return info.GetRecentActions()[index]
}

func (s schedules) awaitTriggered(ctx context.Context, name, workflowID string, before *schedulepb.ScheduleInfo) (Triggered, error) {
	sent, wait := time.Now(), 20*time.Millisecond
	for time.Since(sent) < triggerWait {
		now, err := s.readOwned(ctx, name)
		if err != nil {
			return leftAfter(ctx, name, workflowID, err)
		}
		action := started(now.info, workflowID)
		if action == nil && time.Since(sent) > foreignActionAge {
			action = firstNew(before, now.info)
		}
		running := starter.RefsOf(now.info.GetRunningWorkflows())
		own := slices.IndexFunc(running, func(r starter.RunRef) bool { return r.WorkflowID == workflowID })
		switch {
		case own >= 0: // The server may skip a request that was sent again, before it lists the first one's group.
			return Triggered{RunRef: running[own]}, nil
		case action != nil:
			result := action.GetStartWorkflowResult()
			return Triggered{RunRef: starter.RunRef{WorkflowID: result.GetWorkflowId(), RunID: result.GetRunId()}}, nil
		case now.info.GetOverlapSkipped() > before.GetOverlapSkipped():
			return Triggered{}, &AlreadyRunningError{JobType: name, Running: running, Waits: now.info.GetBufferSize() > 0}
		case len(now.info.GetRunningWorkflows()) > 0 && buffered(before, now):
			return Triggered{RunRef: starter.RunRef{WorkflowID: workflowID}, Buffered: true}, nil
		}
		if err := rpc.Wait(ctx, wait); err != nil {
			return leftAfter(ctx, name, workflowID, err)
		}
		wait = min(wait*3/2, 500*time.Millisecond)
	}
	return Triggered{RunRef: starter.RunRef{WorkflowID: workflowID}}, fmt.Errorf("job type %s was triggered, but no group started within %s: see `roundsman show %s`; the server may be overloaded", name, triggerWait, name)
}

// The group of a sent request may start later. The audit log has the request.
func leftAfter(ctx context.Context, name, workflowID string, err error) (Triggered, error) {
	sent := Triggered{RunRef: starter.RunRef{WorkflowID: workflowID}}
	if ctx.Err() == nil {
		return sent, fmt.Errorf("wait for the triggered group of %s: %w", name, err)
	}
	return sent, &starter.GivenUpError{Asked: "start of " + name, Cause: context.Cause(ctx)}
}

func firstNew(before, now *schedulepb.ScheduleInfo) *schedulepb.ScheduleActionResult {
	for _, action := range now.GetRecentActions() {
		if started(before, action.GetStartWorkflowResult().GetWorkflowId()) == nil {
			return action
		}
	}
	return nil
}

// buffer_one holds one tick only: one that was buffered before must not be mistaken for it.
func buffered(before *schedulepb.ScheduleInfo, now held) bool {
	waits := now.info.GetBufferSize()
	if now.schedule.GetPolicies().GetOverlapPolicy() != enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE {
		return waits > 0
	}
	return waits > before.GetBufferSize() || waits > 0 && firstNew(before, now.info) != nil
}

// Backfilled lists the groups of a backfill, which start one after the other.
type Backfilled struct {
	JobType string      `json:"job_type"`
	Runs    int         `json:"runs"`
	Ticks   []time.Time `json:"ticks"`
	DryRun  bool        `json:"dry_run,omitempty"`
}

// PreviewBackfill returns the groups of Backfill. A span without a tick, or with too many, is a [*starter.InvalidError].
func (c Client) PreviewBackfill(ctx context.Context, name string, from, to time.Time) (Backfilled, error) {
	preview := Backfilled{JobType: name, DryRun: true}
	if !from.Before(to) {
		return preview, starter.Invalidf("backfill %s: %s is not before %s", name, from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	s := c.schedules()
	if _, err := s.readOwned(ctx, name); err != nil {
		return preview, err
	}
	var err error
	if preview.Ticks, err = s.ticks(ctx, name, from, to, maxBackfill+1); err != nil {
		return preview, err
	}
	switch preview.Runs = len(preview.Ticks); {
	case preview.Runs == 0:
		return preview, starter.Invalidf("backfill %s: it was not due between %s and %s", name, from.Format(time.RFC3339), to.Format(time.RFC3339))
	case preview.Runs > maxBackfill:
		return preview, starter.Invalidf("backfill %s: it was due more than %d times in this span: choose a shorter one", name, maxBackfill)
	}
	return preview, nil
}

// Backfill starts the groups of the ticks between two inclusive times, one after the other, also existing ones again.
func (c Client) Backfill(ctx context.Context, name string, from, to time.Time) (Backfilled, error) {
	filled, err := c.PreviewBackfill(ctx, name, from, to)
	if err != nil {
		return filled, err
	}
	filled.DryRun = false
	err = c.schedules().patch(ctx, name, &schedulepb.SchedulePatch{BackfillRequest: []*schedulepb.BackfillRequest{{
		StartTime: timestamppb.New(from), EndTime: timestamppb.New(to),
		// The type's own policy, usually skip, would drop all except the first.
		OverlapPolicy: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
	}}})
	if err == nil {
		c.recordSchedule(ctx, name, contract.AuditEntry{
			Action: "jobtype.backfill", Count: filled.Runs, Detail: from.UTC().Format(time.RFC3339) + " to " + to.UTC().Format(time.RFC3339),
		})
	}
	return filled, err
}
