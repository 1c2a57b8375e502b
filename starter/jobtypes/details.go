package jobtypes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/ticks"
	"github.com/roundsman/roundsman/starter"
)

// Details are the facts about one job type that lists lack.
type Details struct {
	Learned Learned `json:"learned"`
	// Last change of its settings in the audit log.
	Changed *Changed `json:"changed,omitempty"`
	// Runs are the last ten runs, newest first, also those that the Schedule did not start.
	Runs []StartedRun `json:"runs"`
}

// StartedRun is a run of a job type with its origin.
type StartedRun struct {
	starter.RunRef

	Standing  explain.RunStanding `json:"standing"`
	StartedAt time.Time           `json:"started_at"`
	EndedAt   time.Time           `json:"ended_at,omitzero"`
	// DueAt is the tick of a run of the Schedule; zero for others.
	DueAt  time.Time       `json:"due_at,omitzero"`
	Origin contract.Origin `json:"origin" enum:"schedule,operator,backfill,apply,submission,retry,unknown"`
	// StartedBy is the origin in words, with the person and the client of the request.
	StartedBy string `json:"started_by"`
	// TopFailure is the most frequent failure of the jobs of the newest run.
	TopFailure *explain.Failure `json:"top_failure,omitempty"`

	adHoc, resumes bool
}

// Details reads the details of a job type, after [Client.AddOutcomes]. An error means that some are not known.
func (c Client) Details(ctx context.Context, known JobType) (Details, error) {
	learned, unlearned := c.Learned(ctx, known)
	changed, unchanged := c.Changed(ctx, known.Name)
	runs, unlisted := c.lastRuns(ctx, known)
	details := Details{Learned: learned, Changed: changed, Runs: make([]StartedRun, 0, len(runs))}
	origins, unread := ticks.Origins{JobType: known.Name, KeptSince: time.Now()}, error(nil)
	if unchanged == nil { // Otherwise the audit log does not answer.
		origins, unread = c.origins(ctx, known)
	}
	for _, run := range runs {
		origin, entry := origins.Of(ticks.Begun{
			WorkflowID: run.WorkflowID, Due: starter.TickOf(run.WorkflowID), Started: run.StartedAt, Submitted: run.adHoc, Resumes: run.resumes,
		})
		if origin != contract.OriginSchedule {
			run.DueAt = time.Time{}
		}
		run.Origin, run.StartedBy = origin, explain.TextOrigin(origin, entry.Actor, entry.Via)
		details.Runs = append(details.Runs, *run)
	}
	return details, errors.Join(unlearned, unchanged, unlisted, unread)
}

// notKept is the state of a run that the server no longer has.
const notKept = "not_kept"

// maxDetailed is the number of runs in the details of a job type.
const maxDetailed = 10

// lastRuns returns the runs of the Schedule, which do not lag, and the submissions that visibility has, newest first.
func (c Client) lastRuns(ctx context.Context, known JobType) ([]*StartedRun, error) {
	var runs []*StartedRun
	listed := map[string]bool{} // A backfill starts a run again under its id.
	for _, recent := range known.Recent {
		if listed[recent.WorkflowID] {
			continue
		}
		listed[recent.WorkflowID] = true
		run := &StartedRun{RunRef: recent.RunRef, StartedAt: recent.StartedAt, EndedAt: recent.EndedAt, DueAt: recent.ScheduledAt}
		run.Standing = starter.Run{RunRef: recent.RunRef, Kind: starter.KindGroup, Status: recent.Status, Outcome: recent.Outcome}.WithStanding().Standing
		if recent.Status == "" {
			run.Standing.State, run.Standing.Role = notKept, explain.RoleUnknown
		}
		runs = append(runs, run)
	}
	visible, err := c.client.Runs().List(ctx, starter.RunFilter{JobType: known.Name, Limit: maxDetailed})
	for _, run := range visible {
		if run.AdHoc != "" {
			runs = append(runs, &StartedRun{RunRef: run.RunRef, Standing: run.Standing, StartedAt: run.Started, EndedAt: run.Ended, adHoc: true, resumes: run.Resumes != ""})
		}
	}
	slices.SortStableFunc(runs, func(a, b *StartedRun) int { return b.StartedAt.Compare(a.StartedAt) })
	runs = runs[:min(len(runs), maxDetailed)]
	c.addStandings(ctx, runs)
	return runs, err
}

// addStandings queries the open runs, whose status does not show whether they wait, and the newest run for its cause.
func (c Client) addStandings(ctx context.Context, runs []*StartedRun) {
	var of []*StartedRun
	var queried []starter.Run
	for i, run := range runs {
		if run.Standing.Open || i == 0 && run.Standing.State != notKept {
			of, queried = append(of, run), append(queried, starter.Run{RunRef: starter.RunRef{WorkflowID: run.WorkflowID}, Status: starter.StatusRunning})
		}
	}
	c.client.Runs().AddCounts(ctx, queried)
	for i, run := range queried {
		if run.Standing.State != "" {
			of[i].Standing, of[i].TopFailure = run.Standing, run.TopFailure
		}
	}
}

// maxOriginEntries is the most entries of a job type that are read for the origins of its last runs.
const maxOriginEntries = 1000

func (c Client) origins(ctx context.Context, known JobType) (ticks.Origins, error) {
	origins := ticks.Origins{JobType: known.Name, KeptSince: time.Now()}
	if known.Spec.Schedule.FirstRun == contract.FirstRunNow {
		origins.MadeAt = known.CreatedAt
	}
	audit := c.client.Audit()
	found, err := audit.Read(ctx, contract.AuditFilter{JobType: known.Name, Kind: contract.AuditOperator, Limit: maxOriginEntries})
	if err != nil {
		return origins, err
	}
	origins.Entries, origins.KeptSince = found.Entries, time.Time{}
	switch {
	case found.More:
		origins.KeptSince = found.Entries[0].At
	case found.Dropped > 0:
		var oldest starter.AuditFound
		oldest, err = audit.Read(ctx, contract.AuditFilter{Before: found.Dropped + newlyDropped, Limit: 1})
		for _, entry := range oldest.Entries {
			origins.KeptSince = entry.At
		}
	}
	return origins, err
}

// newlyDropped is ample: the audit log may drop some entries between two queries.
const newlyDropped = 10
