package calendar

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/ticks"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// LedgerTick is the outcome of one instant.
type LedgerTick = ticks.Tick

// maxLedgerRuns bounds the runs of a ledger: 20 job types every five minutes, for a week.
const maxLedgerRuns = 40_000

// Ledger holds the ticks of the last days.
type Ledger struct {
	AsOf time.Time `json:"as_of"`
	// From is the start of the ledger. Incomplete means that it is later than requested: there are
	// more runs than were read.
	From       time.Time `json:"from"`
	Incomplete bool      `json:"incomplete,omitempty" doc:"from is later than requested: there are more runs than were read"`
	// KeptSince is the start of the server's retention.
	KeptSince time.Time `json:"kept_since,omitzero"`
	// Ticks are newest first; Counts are by state. Failed counts missed ticks, and ticks whose run failed.
	Ticks  []ticks.Tick               `json:"ticks"`
	Counts map[contract.TickState]int `json:"counts"`
	Failed int                        `json:"failed" doc:"Instants that were missed, or whose run failed"`
	// Days count all ticks, also beyond the limit.
	Days []Day `json:"days,omitempty" doc:"All instants by day, also those that the limit left out"`
	// Number of earlier ticks that a limit left out; Counts includes them.
	More int `json:"more,omitempty" doc:"Earlier ticks that the limit left out; counts has them"`
}

// LedgerOf returns each tick of the named job types since from. It lists the runs once, and then reads each
// Schedule once: a run that begins in between is in its Schedule.
func LedgerOf(ctx context.Context, client *starter.Client, now, from time.Time, names ...string) (Ledger, error) {
	found := Ledger{AsOf: now, From: from, Ticks: []ticks.Tick{}, Counts: map[contract.TickState]int{}}
	known, err := named(ctx, jobtypes.Of(client), names)
	if err != nil {
		return found, err
	}
	// A run may have begun before the first instant and delayed it.
	filter := starter.RunFilter{Kind: starter.KindGroup, Since: from.Add(-24 * time.Hour), Limit: maxLedgerRuns}
	if len(names) == 1 {
		filter.JobType = names[0]
	}
	runs, err := client.Runs().List(ctx, filter)
	if err != nil {
		return found, err
	}
	found.cut(runs, maxLedgerRuns)
	listed := listing{runs: runs, since: filter.Since}
	if len(runs) == maxLedgerRuns {
		listed.since = runs[len(runs)-1].Started
	}
	audit, err := client.Audit().Read(ctx, contract.AuditFilter{Kind: contract.AuditOperator})
	if err != nil {
		return found, err
	}
	kept, err := client.Retention(ctx)
	if err != nil {
		return found, err
	}
	found.KeptSince = now.Add(-kept)
	reader := ledgerReader{client: client, listed: listed, entries: audit.Entries, ledger: found}
	parts := make([][]ticks.Tick, len(known))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range known {
		group.Go(func() (err error) {
			parts[i], err = reader.ticks(groupCtx, known[i].Name)
			if len(names) == 0 && errors.Is(err, starter.ErrNotFound) {
				return nil // It was deleted, and the list lags.
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return found, err
	}
	found.Ticks = append(found.Ticks, slices.Concat(parts...)...)
	found.describe()
	found.Count()
	slices.SortStableFunc(found.Ticks, func(a, b ticks.Tick) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.JobType, b.JobType))
	})
	return found, nil
}

type ledgerReader struct {
	client  *starter.Client
	listed  listing
	entries []contract.AuditEntry
	ledger  Ledger
}

func (r ledgerReader) ticks(ctx context.Context, name string) ([]ticks.Tick, error) {
	known, err := jobtypes.Of(r.client).Get(ctx, name)
	if err != nil {
		return nil, err
	}
	applied := scheduledSince(known, r.entries)
	due, err := jobtypes.Of(r.client).Due(ctx, name, instant.Later(r.ledger.From, applied), r.ledger.AsOf)
	if err != nil {
		return nil, err
	}
	runs, err := r.listed.of(ctx, r.client, known)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Backfilled = backfilled(runs[i], name, r.entries)
	}
	all := ticks.Of(r.ledger.AsOf, ticks.JobType{
		Name: name, Ticks: due, Runs: runs, Jitter: known.Spec.Schedule.Jitter.Std(),
		Overlap: known.Spec.Policy.Overlap, Buffered: int(known.Counts.Buffered),
		Pauses: pausesOf(known, r.entries), AppliedAt: applied, KeptSince: r.ledger.KeptSince,
	})
	return slices.DeleteFunc(all, func(tick ticks.Tick) bool { return tick.At.Before(r.ledger.From) }), nil
}

// cut moves the start of the ledger behind the runs that were not read: the list is newest first, so they began before
// its last one.
func (l *Ledger) cut(runs []starter.Run, limit int) {
	if len(runs) < limit {
		return
	}
	if last := runs[len(runs)-1].Started; last.After(l.From) {
		l.From, l.Incomplete = last, true
	}
}

func (l *Ledger) describe() {
	for i := range l.Ticks {
		l.Ticks[i].Text = explain.TextTick(l.Ticks[i].Code)
	}
}

// Count sets the counts by state, and the number of failures.
func (l *Ledger) Count() {
	l.Counts, l.Failed = map[contract.TickState]int{}, 0
	for _, tick := range l.Ticks {
		l.Counts[tick.State]++
		if tick.State == contract.TickMissed || tick.Outcome.Failed() {
			l.Failed++
		}
	}
}

func named(ctx context.Context, j jobtypes.Client, names []string) ([]jobtypes.JobType, error) {
	if len(names) == 0 {
		return j.List(ctx)
	}
	known := make([]jobtypes.JobType, len(names)) // Each is read after the runs.
	for i, name := range names {
		known[i].Name = name
	}
	return known, nil
}

// listing has the runs of all job types that began since a time, newest first.
type listing struct {
	runs  []starter.Run
	since time.Time
}

// of returns the runs of a job type. It adds runs of its Schedule: visibility lags, and a run that began before the
// listing may have delayed an instant. Runs of a Schedule follow each other, so only the newest of these can.
func (l listing) of(ctx context.Context, client *starter.Client, known jobtypes.JobType) ([]ticks.Run, error) {
	var runs []ticks.Run
	for _, run := range l.runs {
		if run.JobType == known.Name && !run.DryRun {
			runs = append(runs, ledgerRun(ctx, client, run))
		}
	}
	seen := map[string]bool{} // A backfill starts a run again under its id.
	for _, recent := range known.Recent {
		if seen[recent.WorkflowID] {
			continue
		}
		seen[recent.WorkflowID] = true
		if at := slices.IndexFunc(runs, func(r ticks.Run) bool { return r.WorkflowID == recent.WorkflowID }); at >= 0 {
			runs[at].Started = recent.StartedAt // A run that continued as new began earlier.
			continue
		}
		described, err := client.Runs().Describe(ctx, starter.RunRef{WorkflowID: recent.WorkflowID})
		if err != nil && !errors.Is(err, starter.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			described.Started = recent.StartedAt
			runs = append(runs, ledgerRun(ctx, client, described.Run))
		}
		if recent.StartedAt.Before(l.since) {
			break
		}
	}
	return runs, nil
}

// The reason of a skipped run comes from its result.
func ledgerRun(ctx context.Context, client *starter.Client, run starter.Run) ticks.Run {
	told := ticks.Run{WorkflowID: run.WorkflowID, Due: starter.TickOf(run.WorkflowID), Started: run.Started, Ended: run.Ended, Outcome: run.Outcome}
	if run.Outcome == contract.OutcomeSkipped {
		told.Code = skippedFor(ctx, client, run.RunRef)
	}
	return told
}

func skippedFor(ctx context.Context, client *starter.Client, ref starter.RunRef) contract.Code {
	snapshot, err := client.Runs().Show(ctx, ref)
	if err != nil || snapshot.Result == nil {
		return contract.CodeForgotten
	}
	return snapshot.Result.Code
}

func pausesOf(known jobtypes.JobType, entries []contract.AuditEntry) []window.Span {
	var pauses []window.Span
	open := false
	for _, entry := range entries {
		if entry.JobType != known.Name {
			continue
		}
		applied := strings.HasPrefix(entry.Action, "apply.")
		begins := entry.Action == "jobtype.pause" || applied && sets(entry, "enabled: false")
		ends := entry.Action == "jobtype.resume" || applied && sets(entry, "enabled: true")
		switch {
		case begins && !open:
			pauses, open = append(pauses, window.Span{From: entry.At}), true
		case ends && open:
			pauses[len(pauses)-1].To, open = entry.At, false
		}
	}
	switch {
	case known.Paused && !open:
		pauses = append(pauses, window.Span{From: cmp.Or(known.PausedAt, known.UpdatedAt, known.CreatedAt)})
	case !known.Paused && open:
		pauses[len(pauses)-1].To = cmp.Or(known.UpdatedAt, pauses[len(pauses)-1].From)
	}
	return pauses
}

// backfilled reports whether a backfill has started a run.
func backfilled(run ticks.Run, jobType string, entries []contract.AuditEntry) bool {
	return slices.ContainsFunc(entries, func(entry contract.AuditEntry) bool {
		return entry.JobType == jobType && ticks.Backfills(&entry, run.Due, run.Started)
	})
}

// scheduledSince returns when the present schedule came into force. An apply records all its changes at its end, so a change
// is in the audit log some time after it was made. The Schedule has the exact time of its last change.
func scheduledSince(known jobtypes.JobType, entries []contract.AuditEntry) time.Time {
	since := known.CreatedAt
	last := instant.Later(known.CreatedAt, known.UpdatedAt)
	for _, entry := range entries {
		changes := entry.Action == "jobtype.set" || strings.HasPrefix(entry.Action, "apply.")
		if changes && entry.JobType == known.Name && (sets(entry, "schedule: ") || sets(entry, "times: ")) {
			since = instant.Later(since, instant.Earlier(entry.At, last))
		}
	}
	return since
}

// sets reports whether a setting of the entry begins with the text. The values of other settings may contain it.
func sets(entry contract.AuditEntry, text string) bool {
	return slices.ContainsFunc(strings.Split(entry.After, "; "), func(setting string) bool { return strings.HasPrefix(setting, text) })
}
