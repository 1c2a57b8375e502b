package api

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// mostReread job types are read one by one after changes, out of the newest mostChanges.
const mostReread, mostChanges = 20, 200

// sharedLists cost calls to visibility. All callers share them for a second.
type sharedLists struct {
	client    *starter.Client
	logger    *slog.Logger
	jobTypes  *feed.Source[[]jobtypes.JobType]
	admission *feed.Source[contract.AdmissionView]
	// Closed runs of job types, which do not change: a backfill starts another one under the same workflow id. Only the fetch of job types uses them.
	ended map[starter.RunRef]jobtypes.ScheduledRun
}

func newLists(client *starter.Client, logger *slog.Logger) *sharedLists {
	l := &sharedLists{client: client, logger: logger}
	l.jobTypes = feed.NewSource(survives(logger, l.fetchJobTypes))
	l.admission = feed.NewSource(survives(logger, l.fetchAdmission))
	return l
}

func (l *sharedLists) fetchJobTypes(ctx context.Context) ([]jobtypes.JobType, error) {
	types := jobtypes.Of(l.client)
	all, err := types.List(ctx)
	if err != nil {
		return nil, err
	}
	if all, err = types.Reread(ctx, all, l.changedLately(ctx)); err != nil {
		l.logger.Warn("the list of job types may be some seconds old", "error", err)
	}
	if err := types.AddHolds(ctx, all); err != nil {
		l.logger.Warn("the holds are unknown", "error", err)
	}
	if err := types.AddServed(ctx, all); err != nil {
		l.logger.Warn("the job types without a worker are unknown", "error", err)
	}
	newest := func(use func(run *jobtypes.ScheduledRun)) {
		for i := range all {
			if len(all[i].Recent) > 0 {
				use(&all[i].Recent[0])
			}
		}
	}
	newest(func(run *jobtypes.ScheduledRun) {
		if was, known := l.ended[run.RunRef]; known {
			run.Status, run.Outcome, run.EndedAt = was.Status, was.Outcome, was.EndedAt
		}
	})
	types.AddOutcomes(ctx, all, 1)
	l.ended = make(map[starter.RunRef]jobtypes.ScheduledRun, len(all))
	newest(func(run *jobtypes.ScheduledRun) {
		if !run.EndedAt.IsZero() {
			l.ended[run.RunRef] = *run
		}
	})
	return all, nil
}

// changedLately returns recently changed job types from the audit log: visibility may lag.
func (l *sharedLists) changedLately(ctx context.Context) []string {
	found, err := l.client.Audit().Read(ctx, contract.AuditFilter{
		Since: time.Now().Add(-visibleEvery), Kind: contract.AuditOperator, Object: contract.ScheduleID(""), Limit: mostChanges,
	})
	if err != nil {
		return nil // Without an audit log the next fetch shows it.
	}
	var names []string
	for _, entry := range slices.Backward(found.Entries) {
		if name, is := contract.JobTypeOfSchedule(entry.Object); is && !slices.Contains(names, name) && len(names) < mostReread {
			names = append(names, name)
		}
	}
	return names
}

func (l *sharedLists) fetchAdmission(ctx context.Context) (contract.AdmissionView, error) {
	return l.client.Admission().View(ctx, contract.AdmissionFilter{Limit: mostUses})
}

func read[T any](ctx context.Context, call *Call, source *feed.Source[T]) (T, time.Time, error) {
	found, err := source.Get(ctx)
	call.refused = found.Refused
	return found.Value, found.AsOf, err
}

// JobTypes returns all applied job types. Callers share the list and must not change it.
func (a *API) JobTypes(ctx context.Context, call *Call) ([]jobtypes.JobType, error) {
	known, _, err := read(ctx, call, a.known.jobTypes)
	return known, err
}
