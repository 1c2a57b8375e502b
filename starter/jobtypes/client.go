package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	schedulepb "go.temporal.io/api/schedule/v1"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// JobType is an applied job type, read from its Schedule.
type JobType struct {
	Name string               `json:"name"`
	Spec contract.JobTypeSpec `json:"spec"`
	// Schedule in text form.
	Times string `json:"times"`
	// DisabledByConfig distinguishes `enabled: false` from an operator's pause.
	Paused    bool   `json:"paused"`
	PauseNote string `json:"pause_note,omitempty"`
	// PausedBy and PausedAt may be unknown for a pause made with Temporal's own tools.
	PausedBy         string    `json:"paused_by,omitempty"`
	PausedAt         time.Time `json:"paused_at,omitzero"`
	DisabledByConfig bool      `json:"disabled_by_config,omitempty"`
	// Next ticks, at most ten; none for a paused type.
	Next []time.Time `json:"next,omitempty"`
	// Running are the open groups, Recent the last ten groups (in a list: five), newest first.
	Running []starter.RunRef `json:"running,omitempty"`
	Recent  []ScheduledRun   `json:"recent,omitempty"`
	Counts  JobTypeCounters  `json:"counts,omitzero"`
	// Hold of the retry budget on the job type, and the number of held keys. See [Client.AddHolds].
	HeldBack *contract.AdmissionHold `json:"held_back,omitempty"`
	HeldKeys int                     `json:"held_keys,omitempty"`
	// NoWorker is set while no worker can serve the job type. See [Client.AddServed].
	NoWorker bool `json:"no_worker,omitempty"`
	// NO_WORKER for the job type or a task of its DAG. See [Client.AddServed].
	Missing string `json:"missing,omitempty"`
	lacks   explain.Shortage
	// Standing of an open run if all open runs wait. See [Client.AddOutcomes].
	waits *explain.RunStanding
	// Window is the state of its maintenance window; nil without a window.
	Window *WindowView `json:"window,omitempty"`
	// Fault is set if the stored spec cannot be read, or the server rejects the schedule.
	Fault     string    `json:"fault,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Client is the client for job types and their Schedules.
type Client struct{ client *starter.Client }

// Of returns the client for job types and their Schedules.
func Of(client *starter.Client) Client { return Client{client} }

// ScheduledRun is a group that a Schedule has started.
type ScheduledRun struct {
	starter.RunRef

	// ScheduledAt is the tick, StartedAt the start of the group.
	ScheduledAt time.Time `json:"scheduled_at"`
	StartedAt   time.Time `json:"started_at"`
	// Set by [Client.AddOutcomes]; empty for a run that the server no longer has.
	Status  starter.RunStatus `json:"status,omitempty"`
	Outcome contract.Outcome  `json:"outcome,omitempty"`
	EndedAt time.Time         `json:"ended_at,omitzero"`
}

// JobTypeCounters count since the creation of the Schedule.
type JobTypeCounters struct {
	// Started groups; Skipped ticks, because the last group still ran; Missed ticks beyond the catch-up window;
	// Buffered ticks, waiting for the running group.
	Started  int64 `json:"started"`
	Skipped  int64 `json:"skipped"`
	Missed   int64 `json:"missed"`
	Buffered int64 `json:"buffered,omitempty"`
}

// List lists the applied job types by name, without Counts, CreatedAt and UpdatedAt, from visibility. A Schedule
// edited since its creation is described by its own request.
func (c Client) List(ctx context.Context) ([]JobType, error) {
	s := c.schedules()
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*JobType, len(entries))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(planParallel)
	for i, entry := range entries {
		if read, complete := s.listed(entry); complete {
			found[i] = read
			continue
		}
		group.Go(func() error {
			name, _ := contract.JobTypeOfSchedule(entry.GetScheduleId())
			read, err := s.jobType(groupCtx, name)
			if errors.Is(err, starter.ErrNotFound) {
				return nil
			}
			found[i] = read
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("list job types: %w", err)
	}
	types := make([]JobType, 0, len(found))
	for _, read := range found {
		if read != nil {
			types = append(types, *read)
		}
	}
	return types, nil
}

// Get reads one job type without a lag, or gives a [*starter.NotFoundError].
func (c Client) Get(ctx context.Context, name string) (JobType, error) {
	read, err := c.schedules().jobType(ctx, name)
	if err != nil {
		return JobType{}, err
	}
	return *read, nil
}

// Pause stops the ticks of a job type until Resume. Running groups continue. An apply keeps the pause.
func (c Client) Pause(ctx context.Context, name, note string) error {
	note = pauseText(note, c.client.Actor(), time.Now())
	if over := len(note) - maxPauseText; over > 0 {
		return starter.Invalidf("the note is %d bytes too long: shorten it (a Schedule stores %d bytes, with author and time)", over, maxPauseText)
	}
	before, err := c.schedules().patchOwned(ctx, name, &schedulepb.SchedulePatch{Pause: note})
	if err == nil {
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.pause", Before: before, After: "paused: " + note})
	}
	return err
}

// Resume ends a pause. The next apply pauses a job type with `enabled: false` again.
func (c Client) Resume(ctx context.Context, name string) error {
	before, err := c.schedules().patchOwned(ctx, name, &schedulepb.SchedulePatch{Unpause: "resumed by " + c.client.Identity()})
	if err == nil {
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.resume", Before: before, After: activeText})
	}
	return err
}

// pausedNote is the prefix of the note in a plan for a paused Schedule.
const pausedNote = "paused: "

// activeText is the audit log's text for an unpaused Schedule.
const activeText = "active"

func (s schedules) patchOwned(ctx context.Context, name string, patch *schedulepb.SchedulePatch) (before string, err error) {
	current, err := s.readOwned(ctx, name)
	if err != nil {
		return "", err
	}
	before = activeText
	if state := current.schedule.GetState(); state.GetPaused() {
		before = "paused: " + state.GetNotes()
	}
	return before, s.patch(ctx, name, patch)
}

func (s schedules) readOwned(ctx context.Context, name string) (held, error) {
	current, found, err := s.read(ctx, name)
	switch {
	case err != nil:
		return held{}, err
	case !found:
		return held{}, starter.NotApplied(name)
	case !s.owned(current.memo):
		return held{}, &starter.RefusedError{Asked: "job type " + name, Reason: "its Schedule was not made by Roundsman: use `temporal schedule` to change it"}
	}
	return current, nil
}

func (s schedules) jobType(ctx context.Context, name string) (*JobType, error) {
	current, err := s.readOwned(ctx, name)
	if err != nil {
		return nil, err
	}
	state, info := current.schedule.GetState(), current.info
	read := &JobType{
		Name:             name,
		Times:            shortTimes(current.schedule.GetSpec()),
		Paused:           state.GetPaused(),
		DisabledByConfig: state.GetPaused() && state.GetNotes() == disabledNote,
		Running:          starter.RefsOf(info.GetRunningWorkflows()),
		Recent:           scheduledRuns(info.GetRecentActions()),
		Counts: JobTypeCounters{
			Started: info.GetActionCount(), Skipped: info.GetOverlapSkipped(),
			Missed: info.GetMissedCatchupWindow(), Buffered: info.GetBufferSize(),
		},
		Fault:     info.GetInvalidScheduleError(), //nolint:staticcheck // deprecated for being rare, not for being wrong
		CreatedAt: rpc.Time(info.GetCreateTime()),
		UpdatedAt: rpc.Time(info.GetUpdateTime()),
	}
	if read.Paused {
		read.PauseNote, read.PausedBy, read.PausedAt = readPause(state.GetNotes())
		if read.PausedBy == "" && read.PausedAt.IsZero() && !read.DisabledByConfig {
			found := s.findPause(ctx, name, state.GetNotes(), read.UpdatedAt)
			read.PausedBy, read.PausedAt = found.shown(), found.at
		}
	} else {
		for _, next := range info.GetFutureActionTimes() {
			read.Next = append(read.Next, next.AsTime())
		}
	}
	if read.Spec, err = s.storedSpec(current.schedule); err != nil {
		read.Fault = err.Error() + ": run apply to repair it"
	}
	read.Window = WindowAt(read.Spec, time.Now())
	return read, nil
}

func scheduledRuns(actions []*schedulepb.ScheduleActionResult) []ScheduledRun {
	var runs []ScheduledRun
	for _, action := range slices.Backward(actions) {
		started := action.GetStartWorkflowResult()
		runs = append(runs, ScheduledRun{
			RunRef:      starter.RunRef{WorkflowID: started.GetWorkflowId(), RunID: started.GetRunId()},
			ScheduledAt: rpc.Time(action.GetScheduleTime()),
			StartedAt:   rpc.Time(action.GetActualTime()),
		})
	}
	return runs
}
