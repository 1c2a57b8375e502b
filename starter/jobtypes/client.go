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
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// JobType is an applied job type as its Schedule knows it.
type JobType struct {
	Name string               `json:"name"`
	Spec contract.JobTypeSpec `json:"spec"`
	// Times says when it is due, as the server has it.
	Times string `json:"times"`
	// Paused and its note; DisabledByConfig tells `enabled: false` from a pause
	// made by a person.
	Paused    bool   `json:"paused"`
	PauseNote string `json:"pause_note,omitempty"`
	// PausedBy and PausedAt may be unknown of a pause made in Temporal's own tools.
	PausedBy         string    `json:"paused_by,omitempty"`
	PausedAt         time.Time `json:"paused_at,omitzero"`
	DisabledByConfig bool      `json:"disabled_by_config,omitempty"`
	// Next are the coming ticks, at most ten; a paused type has none.
	Next []time.Time `json:"next,omitempty"`
	// Running are the groups that run now, Recent the last ten that were started (of a
	// list: five), newest first.
	Running []starter.RunRef `json:"running,omitempty"`
	Recent  []ScheduledRun   `json:"recent,omitempty"`
	Counts  JobTypeCounters  `json:"counts,omitzero"`
	// HeldBack is set while the retry budget has disabled the job type, HeldKeys
	// counts its keys that are held back. See [JobTypes.AddHolds].
	HeldBack *contract.AdmissionHold `json:"held_back,omitempty"`
	HeldKeys int                     `json:"held_keys,omitempty"`
	// NoWorker is set while no worker can serve the job type. See [JobTypes.AddServed].
	NoWorker bool `json:"no_worker,omitempty"`
	// Missing names the handler, label or node that no online worker has for the job type, or for a task
	// of its DAG: NO_WORKER, the cause and the command. See [JobTypes.AddServed].
	Missing string `json:"missing,omitempty"`
	// Window says whether its maintenance window is open; nil if it has none.
	Window *WindowView `json:"window,omitempty"`
	// Fault is set when the stored spec cannot be read or the server cannot
	// work out when the job type is due.
	Fault     string    `json:"fault,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Client is the part of the client about job types and their Schedules.
type Client struct{ client *starter.Client }

// Of gives the part of a client about job types and their Schedules.
func Of(client *starter.Client) Client { return Client{client} }

// ScheduledRun is a group that a Schedule has started.
type ScheduledRun struct {
	starter.RunRef

	// ScheduledAt is the tick, StartedAt when the group was started.
	ScheduledAt time.Time `json:"scheduled_at"`
	StartedAt   time.Time `json:"started_at"`
	// Status and Outcome are how it ended, or that it is open; empty unless
	// [JobTypes.AddOutcomes] was asked, and for a run that the server keeps no more.
	Status  starter.RunStatus `json:"status,omitempty"`
	Outcome contract.Outcome  `json:"outcome,omitempty"`
	EndedAt time.Time         `json:"ended_at,omitzero"`
}

// JobTypeCounters count since the Schedule was made.
type JobTypeCounters struct {
	// Started groups; Skipped ticks because the last group still ran; Missed
	// ones because the server was away for longer than the catch-up window;
	// Buffered ones that wait for the running group.
	Started  int64 `json:"started"`
	Skipped  int64 `json:"skipped"`
	Missed   int64 `json:"missed"`
	Buffered int64 `json:"buffered,omitempty"`
}

// List lists the applied job types by name, without Counts, CreatedAt and UpdatedAt.
// One that was applied a moment ago may be missing: the list comes from visibility. A
// Schedule that was changed since it was made is asked itself.
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

// Get reads one job type, exactly. A [*starter.NotFoundError] says that it was not
// applied.
func (c Client) Get(ctx context.Context, name string) (JobType, error) {
	read, err := c.schedules().jobType(ctx, name)
	if err != nil {
		return JobType{}, err
	}
	return *read, nil
}

// Pause stops a job type from being due until Resume; groups that run continue.
// The note tells why, and who is noted with it; both survive every apply. Pausing what is paused
// replaces the note.
func (c Client) Pause(ctx context.Context, name, note string) error {
	note = pauseText(note, c.client.Actor(), time.Now())
	if over := len(note) - maxPauseText; over > 0 {
		return starter.Invalidf("the note is %d bytes too long: a Schedule keeps %d, with who paused it and when", over, maxPauseText)
	}
	before, err := c.schedules().patchOwned(ctx, name, &schedulepb.SchedulePatch{Pause: note})
	if err == nil {
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.pause", Before: before, After: "paused: " + note})
	}
	return err
}

// Resume ends a pause. A job type with `enabled: false` is paused again by the
// next apply.
func (c Client) Resume(ctx context.Context, name string) error {
	before, err := c.schedules().patchOwned(ctx, name, &schedulepb.SchedulePatch{Unpause: "resumed by " + c.client.Identity()})
	if err == nil {
		c.recordSchedule(ctx, name, contract.AuditEntry{Action: "jobtype.resume", Before: before, After: activeText})
	}
	return err
}

// pausedNote is before the note of a Schedule that is paused.
const pausedNote = "paused: "

// activeText is the state of a Schedule that is not paused.
const activeText = "active"

// patchOwned returns whether the job type was paused before, and why.
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

// readOwned reads the Schedule of an applied job type.
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
		Times:            timesText(current.schedule.GetSpec()),
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
	read.Window = windowAt(read.Spec, time.Now())
	return read, nil
}

// scheduledRuns turns the server's oldest-first list around.
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
