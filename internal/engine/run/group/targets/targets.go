package targets

import (
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Target is one worker of the run.
type Target struct {
	Attempts int       `json:"a,omitempty"`
	Losses   int       `json:"l,omitempty"`
	Refusals int       `json:"r,omitempty"`
	BusyTill time.Time `json:"b,omitzero"`
	// Retries counts the attempts after a failure of the handler.
	Retries int `json:"f,omitempty"`
	// Done: it has detected, or has its job. Missed: it never will, in this run.
	Done   bool `json:"d,omitempty"`
	Missed bool `json:"m,omitempty"`
	// Awaited: it was ONLINE or UNREACHABLE during the run, so the run waits for it. A worker that
	// was OFFLINE from the beginning detects if it comes back while the run lasts.
	Awaited bool `json:"w,omitempty"`
	// Noted: the audit log has that it was missed.
	Noted bool `json:"n,omitempty"`
	// Code and Detail are the reason why it has not yet, or never will.
	Code   contract.Code `json:"c,omitempty"`
	Detail string        `json:"t,omitempty"`
}

// Over reports whether nothing will change any more.
func (t *Target) Over() bool { return t.Done || t.Missed }

// Miss ends the attempts on the worker.
func (t *Target) Miss(code contract.Code, detail string) {
	t.Missed, t.Code, t.Detail = true, code, detail
}

// Later leaves the worker alone for a pause.
func (t *Target) Later(code contract.Code, detail string, until time.Time) {
	t.BusyTill, t.Code, t.Detail = until, code, detail
	t.Refusals++
}

// Book has the targets by the ids of their workers.
type Book map[string]*Target

// Get returns the target of a worker, and creates it.
func (b *Book) Get(id string) *Target {
	if *b == nil {
		*b = Book{}
	}
	if (*b)[id] == nil {
		(*b)[id] = &Target{}
	}
	return (*b)[id]
}

// IDs lists the workers.
func (b *Book) IDs() []string { return slices.Sorted(maps.Keys(*b)) }

// Missing counts the workers that have not detected.
func (b *Book) Missing() int {
	missing := len(*b)
	//workflowcheck:ignore a sum does not depend on the order
	for _, t := range *b {
		if t.Done {
			missing--
		}
	}
	return missing
}

// Awaited reports whether the run waits for a worker that may detect yet.
func (b *Book) Awaited() bool {
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, t := range *b {
		if !t.Over() && t.Awaited {
			return true
		}
	}
	return false
}

// DueAt is when the pause of a worker ends; zero: none has one.
func (b *Book) DueAt(now time.Time) (next time.Time) {
	//workflowcheck:ignore the earliest does not depend on the order
	for _, t := range *b {
		if !t.Over() && t.BusyTill.After(now) && (next.IsZero() || t.BusyTill.Before(next)) {
			next = t.BusyTill
		}
	}
	return next
}

// Away lists at most limit workers that have not detected and do not detect now.
func (b *Book) Away(limit int, detecting func(id string) bool) []contract.MissedWorker {
	var list []contract.MissedWorker
	for _, id := range b.IDs() {
		if t := (*b)[id]; len(list) < limit && !t.Done && t.Code != "" && !detecting(id) {
			list = append(list, contract.MissedWorker{Worker: id, Code: t.Code, Detail: t.Detail, Attempts: t.Attempts})
		}
	}
	return list
}

// GiveUp ends the run's patience: the workers that have not detected never will. The new ones
// among them are returned for the audit log. Final: the run ends; otherwise those that may come
// back keep their chance.
func (b *Book) GiveUp(final bool) []contract.MissedWorker {
	var fresh []contract.MissedWorker
	for _, id := range b.IDs() {
		t := (*b)[id]
		if t.Done {
			continue
		}
		if t.Code == "" {
			t.Code, t.Detail = contract.CodeNoWorker, explain.TextDeregistered
		}
		t.Missed = t.Missed || final
		if !t.Noted {
			t.Noted = true
			fresh = append(fresh, contract.MissedWorker{Worker: id, Code: t.Code, Detail: t.Detail, Attempts: t.Attempts})
		}
	}
	return fresh
}
