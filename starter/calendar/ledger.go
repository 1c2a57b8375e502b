package calendar

import (
	"cmp"
	"context"
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
	// Ticks are newest first; Counts are by state.
	Ticks  []ticks.Tick               `json:"ticks"`
	Counts map[contract.TickState]int `json:"counts"`
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
	from = found.From
	audit, err := client.Audit().Read(ctx, contract.AuditFilter{Kind: contract.AuditOperator})
	if err != nil {
		return found, err
	}
	kept, err := client.Retention(ctx)
	if err != nil {
		return found, err
	}
	found.KeptSince = now.Add(-kept)
	parts := make([][]ticks.Tick, len(known))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range known {
		group.Go(func() error {
			one, err := jobtypes.Of(client).Get(groupCtx, known[i].Name)
			if err != nil {
				return err
			}
			known[i] = one
			applied := scheduledSince(known[i], audit.Entries)
			due, err := jobtypes.Of(client).Due(groupCtx, known[i].Name, instant.Later(from, applied), now)
			if err != nil {
				return err
			}
			parts[i] = ticks.Of(now, ticks.JobType{
				Name: known[i].Name, Ticks: due, Runs: ledgerRuns(groupCtx, client, known[i], runs), Jitter: known[i].Spec.Schedule.Jitter.Std(),
				Overlap: known[i].Spec.Policy.Overlap, Buffered: int(known[i].Counts.Buffered),
				Pauses: pausesOf(known[i], audit.Entries), AppliedAt: applied, KeptSince: found.KeptSince,
			})
			return nil
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

// Count sets the counts by state.
func (l *Ledger) Count() {
	l.Counts = map[contract.TickState]int{}
	for _, tick := range l.Ticks {
		l.Counts[tick.State]++
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

// The reason of a skipped run comes from its result.
func ledgerRuns(ctx context.Context, client *starter.Client, known jobtypes.JobType, all []starter.Run) []ticks.Run {
	var runs []ticks.Run
	for _, run := range all {
		if run.JobType != known.Name || run.DryRun {
			continue
		}
		told := ticks.Run{WorkflowID: run.WorkflowID, Due: starter.TickOf(run.WorkflowID), Started: run.Started, Ended: run.Ended, Outcome: run.Outcome}
		if run.Outcome == contract.OutcomeSkipped {
			told.Code = skippedFor(ctx, client, run.RunRef)
		}
		runs = append(runs, told)
	}
	for _, run := range known.Recent {
		at := slices.IndexFunc(runs, func(r ticks.Run) bool { return r.WorkflowID == run.WorkflowID })
		if at < 0 { // Visibility lags.
			runs = append(runs, ticks.Run{WorkflowID: run.WorkflowID, Due: starter.TickOf(run.WorkflowID), Started: run.StartedAt, Ended: run.EndedAt, Outcome: run.Outcome})
			continue
		}
		runs[at].Started = run.StartedAt // A run that continued as new began earlier.
	}
	return runs
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
		begins := entry.Action == "jobtype.pause" || strings.HasPrefix(entry.Action, "apply.") && strings.Contains(entry.After, "enabled: false")
		ends := entry.Action == "jobtype.resume" || strings.HasPrefix(entry.Action, "apply.") && strings.Contains(entry.After, "enabled: true")
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

// scheduledSince returns when the present schedule came into force. An apply records all its changes at its end, so a change
// is in the audit log some time after it was made. The Schedule has the exact time of its last change.
func scheduledSince(known jobtypes.JobType, entries []contract.AuditEntry) time.Time {
	since := known.CreatedAt
	last := instant.Later(known.CreatedAt, known.UpdatedAt)
	for _, entry := range entries {
		changes := entry.Action == "jobtype.set" || strings.HasPrefix(entry.Action, "apply.")
		if changes && entry.JobType == known.Name && strings.Contains(entry.After, "schedule") {
			since = instant.Later(since, instant.Earlier(entry.At, last))
		}
	}
	return since
}
