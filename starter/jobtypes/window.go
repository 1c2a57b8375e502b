package jobtypes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// WindowView is the state of the maintenance window of a job type.
type WindowView struct {
	Open bool `json:"open"`
	// Closed is the reason for a closed window; Since is its start if known.
	Closed string    `json:"closed,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Until is the end of the open or closed state. Zero: not within 400 days.
	Until time.Time `json:"until,omitzero"`
	// Next windows, the open one first.
	Next []contract.WindowSpan `json:"next,omitempty"`
	// Fault is the error in the windows, which then count as closed.
	Fault string `json:"fault,omitempty"`
}

// WindowAt computes the windows of a job type; nil without windows.
func WindowAt(spec contract.JobTypeSpec, now time.Time) *WindowView {
	if spec.Calendar.Empty() && spec.LaneCalendar.Empty() {
		return nil
	}
	own, err := window.New(spec.Calendar, time.LoadLocation)
	if err != nil {
		return &WindowView{Fault: fmt.Sprintf("%s: run apply to repair it", err)}
	}
	lane, err := window.New(spec.LaneCalendar, time.LoadLocation)
	if err != nil {
		return &WindowView{Fault: fmt.Sprintf("lane %s: %s: run apply to repair it", spec.Lane, err)}
	}
	view := &WindowView{Closed: explain.Closed(spec.Name, own.Why(now), spec.Lane, lane.Why(now))}
	for _, span := range window.Upcoming(now, contract.MaxWindows, own, lane) {
		view.Next = append(view.Next, contract.WindowSpan(span))
	}
	if view.Open = view.Closed == ""; view.Open {
		if len(view.Next) > 0 {
			view.Until = view.Next[0].To
		}
		return view
	}
	view.Since = window.ClosedSince(now, own, lane)
	if len(view.Next) > 0 {
		view.Until = view.Next[0].From
	}
	return view
}

// Learned holds the run times of a job type's jobs.
type Learned struct {
	// P95 is the run time that 95 of 100 jobs keep, among the last Of jobs; 0 before 20 jobs.
	P95 jobtype.Duration `json:"p95,omitempty"`
	Of  int              `json:"of"`
	// Dedupe keys of jobs stopped at the end of a window, which the next run continues.
	Checkpoints []string `json:"checkpoints,omitempty"`
}

// Learned reads the record in the newest closed run of a job type; empty before the first run.
func (c Client) Learned(ctx context.Context, known JobType) (Learned, error) {
	record, err := c.Record(ctx, known)
	return learnedOf(record), err
}

func learnedOf(record contract.RunRecord) Learned {
	took := lists.Map(record.TookMS, func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond })
	p95, _ := window.P95(took)
	learned := Learned{P95: jobtype.Duration(p95), Of: len(took)}
	for _, kept := range record.Checkpoints {
		learned.Checkpoints = append(learned.Checkpoints, kept.Key)
	}
	return learned
}

const maxToldRuns = 1000

// ignoredWindow is the audit log's text for a run that does not wait for its window.
const ignoredWindow = "whatever its windows say"

// calendarChange is a change of a job type's windows. told lists the groups that have received it.
type calendarChange struct {
	to   contract.SetCalendarInput
	told map[string]bool
}

// If the stored windows are unreadable, running groups keep theirs.
func (s schedules) changesCalendar(stored held, wanted contract.JobTypeSpec) *calendarChange {
	before, err := s.storedSpec(stored.schedule)
	if err != nil || reflect.DeepEqual(before.Calendar, wanted.Calendar) && reflect.DeepEqual(before.LaneCalendar, wanted.LaneCalendar) {
		return nil
	}
	return &calendarChange{contract.SetCalendarInput{Calendar: wanted.Calendar, LaneCalendar: wanted.LaneCalendar, By: s.client.Actor()}, map[string]bool{}}
}

// tell sends the change to each running group once: before the write of the Schedule, so that an apply after a crash
// finds the difference again, and after it, for groups started meanwhile. A submitted group comes from visibility,
// which lags by a second.
func (s schedules) tell(ctx context.Context, change *calendarChange, name string, info *schedulepb.ScheduleInfo) error {
	if change == nil {
		return nil
	}
	ids := lists.Map(info.GetRunningWorkflows(), (*commonpb.WorkflowExecution).GetWorkflowId)
	open, err := s.client.Runs().List(ctx, starter.RunFilter{JobType: name, Running: true, Limit: maxToldRuns})
	if err != nil {
		return fmt.Errorf("list the submitted runs of %s for the changed windows: %w", name, err)
	}
	for _, run := range open {
		if _, _, adHoc := contract.AdHocOf(run.WorkflowID); adHoc {
			ids = append(ids, run.WorkflowID)
		}
	}
	return s.tellEach(ctx, change, ids)
}

func (s schedules) tellEach(ctx context.Context, change *calendarChange, ids []string) error {
	for _, id := range ids {
		if change.told[id] {
			continue
		}
		err := s.client.Temporal().SignalWorkflow(ctx, id, "", contract.SignalSetCalendar, change.to)
		if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
			return fmt.Errorf("send the changed windows to the running group %s: %w", id, err)
		}
		change.told[id] = true
	}
	return nil
}

func (c Client) release(ctx context.Context, name string, info *schedulepb.ScheduleInfo) (*Triggered, error) {
	for _, ref := range starter.RefsOf(info.GetRunningWorkflows()) {
		ref.RunID = "" // It may have continued as new.
		shown, err := c.lookedUp(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("read whether %s waits for its window: %w", ref.WorkflowID, err)
		}
		if shown.Group == nil || shown.Group.Wait == nil {
			continue
		}
		code := contract.Code(shown.Group.Wait.Code)
		if code != contract.CodeWindowClosed && code != contract.CodeAfter {
			continue
		}
		err = c.client.Temporal().SignalWorkflow(ctx, ref.WorkflowID, "", contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true, By: c.client.Actor()})
		if err != nil {
			return nil, fmt.Errorf("release %s from its window: %w", ref.WorkflowID, err)
		}
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.run", Object: ref.WorkflowID, Detail: waited(code)})
		return &Triggered{RunRef: shown.RunRef, Released: true}, nil
	}
	return nil, nil
}

// lookedUp returns the state of a run that has looked up its window: only then it is known whether it waits.
func (c Client) lookedUp(ctx context.Context, ref starter.RunRef) (starter.Snapshot, error) {
	for begun := time.Now(); ; {
		shown, err := c.client.Runs().Show(ctx, ref)
		switch {
		case err != nil || !shown.Open() || !looksUp(shown.Group):
			return shown, err
		case time.Since(begun) > triggerWait:
			return shown, errors.New(cmp.Or(shown.Unanswered, shown.Waiting))
		}
		if err := rpc.Wait(ctx, beginPoll); err != nil {
			return shown, err
		}
	}
}

func waited(code contract.Code) string {
	if code == contract.CodeAfter {
		return contract.AuditReleased + "a success of another job type"
	}
	return contract.AuditReleased + "its window, which is closed"
}

// TriggerIgnoringWindow is Trigger for a group that runs outside its window. It releases a waiting group. For a new
// group it first writes the group's workflow id into the Schedule's argument: no other group has that id.
func (c Client) TriggerIgnoringWindow(ctx context.Context, name string) (Triggered, error) {
	s := c.schedules()
	for range convergeAttempts {
		before, err := s.readOwned(ctx, name)
		if err != nil {
			return Triggered{}, err
		}
		at, was := c.tick(ctx, name, before)
		if was != nil {
			c.recordIgnored(ctx, name, was.WorkflowID)
			return *was, nil
		}
		if released, err := c.release(ctx, name, before.info); released != nil || err != nil {
			return *cmp.Or(released, &Triggered{}), err
		}
		if err := s.mark(ctx, name, before, groupAt(name, at)); err != nil {
			return Triggered{}, err
		}
		if now, err := s.readOwned(ctx, name); err != nil || s.marked(now.schedule) != groupAt(name, at) {
			continue // Another client wrote it at the same time.
		}
		triggered, err := s.triggerAt(ctx, name, at, before)
		if triggered.WorkflowID != "" {
			c.recordIgnored(ctx, name, triggered.WorkflowID)
		}
		return triggered, err
	}
	return Triggered{}, errContested
}

func (c Client) recordIgnored(ctx context.Context, name, workflowID string) {
	c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.run", Object: workflowID, Detail: ignoredWindow})
}

func (s schedules) mark(ctx context.Context, name string, current held, workflowID string) error {
	input, err := s.storedInput(current.schedule)
	if err != nil {
		return fmt.Errorf("job type %s: %w: run apply to repair it", name, err)
	}
	input.IgnoreWindow = workflowID
	payloads, err := s.converter.ToPayloads(input)
	if err != nil {
		return fmt.Errorf("encode the group's input: %w", err)
	}
	schedule, ok := proto.Clone(current.schedule).(*schedulepb.Schedule)
	if !ok {
		return fmt.Errorf("job type %s: its Schedule cannot be copied: run apply to repair it", name)
	}
	schedule.GetAction().GetStartWorkflow().Input = payloads
	return s.update(ctx, name, schedule, current.token)
}

func (s schedules) marked(schedule *schedulepb.Schedule) string {
	input, err := s.storedInput(schedule)
	if err != nil {
		return ""
	}
	return input.IgnoreWindow
}

func (s schedules) storedInput(schedule *schedulepb.Schedule) (contract.JobGroupInput, error) {
	var input contract.JobGroupInput
	payloads := schedule.GetAction().GetStartWorkflow().GetInput().GetPayloads()
	if len(payloads) != 1 {
		return input, fmt.Errorf("the Schedule's workflow has %d arguments instead of 1", len(payloads))
	}
	if err := s.converter.FromPayload(payloads[0], &input); err != nil {
		return input, fmt.Errorf("the Schedule's argument cannot be read: %w", err)
	}
	return input, nil
}
