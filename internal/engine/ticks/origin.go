package ticks

import (
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// recordedWithin is ample: a backfill is recorded after the server has taken it.
	recordedWithin = 10 * time.Second
	// firstWithin is ample: the first run of a job type is part of the request that makes its Schedule.
	firstWithin = 10 * time.Second
)

// Begun is a run whose origin is sought.
type Begun struct {
	WorkflowID string
	// Due is the instant in its id, or zero.
	Due, Started time.Time
	// Submitted means that it has jobs or params of its own, Resumes that these are failed jobs of another run.
	Submitted, Resumes bool
}

// Origins finds the origins of the runs of one job type.
type Origins struct {
	JobType string
	// Entries are operators' entries of the audit log.
	Entries []contract.AuditEntry
	// KeptSince is the time of the oldest entry of the log, or zero if nothing was dropped.
	KeptSince time.Time
	// MadeAt is when the Schedule was made, if it started a run at once; zero otherwise.
	MadeAt time.Time
}

// Of returns the origin of a run, and the log's entry of the request: an empty one if the log has none.
func (o Origins) Of(run Begun) (contract.Origin, *contract.AuditEntry) {
	for i := range o.Entries {
		if by := requests(&o.Entries[i], run); by != "" {
			return by, &o.Entries[i]
		}
	}
	first := !o.MadeAt.IsZero() && !run.Due.Before(o.MadeAt.Truncate(inID)) && run.Due.Before(o.MadeAt.Add(firstWithin))
	for i := range o.Entries {
		switch entry := &o.Entries[len(o.Entries)-1-i]; {
		case entry.JobType != o.JobType:
		case Backfills(entry, run.Due, run.Started):
			return contract.OriginBackfill, entry
		case first && entry.Action == "apply.create":
			return contract.OriginApply, entry
		}
	}
	by := contract.OriginSchedule
	switch {
	case run.Resumes:
		by = contract.OriginRetry
	case run.Submitted:
		by = contract.OriginSubmission
	case first:
		by = contract.OriginApply
	case run.Started.Before(o.KeptSince):
		by = contract.OriginUnknown
	}
	return by, &contract.AuditEntry{}
}

// requests returns the origin of a run whose id the entry of a request has; empty otherwise.
func requests(entry *contract.AuditEntry, run Begun) contract.Origin {
	switch {
	case entry.Object != run.WorkflowID:
	case entry.Action == "jobs.submit":
		return contract.OriginSubmission
	case entry.Action == "jobs.retry":
		return contract.OriginRetry
	case entry.Action == "jobtype.run" && !strings.HasPrefix(entry.Detail, contract.AuditReleased):
		return contract.OriginOperator
	}
	return ""
}

// Backfills reports whether a backfill with this entry started the run. The entry's detail has the first and the last instant.
func Backfills(entry *contract.AuditEntry, due, started time.Time) bool {
	first, last, _ := strings.Cut(entry.Detail, " to ")
	if entry.Action != "jobtype.backfill" || started.Before(entry.At.Add(-recordedWithin)) {
		return false
	}
	from, err := time.Parse(time.RFC3339, first)
	to, faulty := time.Parse(time.RFC3339, last)
	return err == nil && faulty == nil && !due.Before(from) && !due.After(to)
}
