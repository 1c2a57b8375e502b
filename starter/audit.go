package starter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

// auditTimeout bounds the recording of an action that has already been done.
const auditTimeout = 5 * time.Second

type operator struct {
	actor, from, via, auth string
	warn                   func(error)
}

func defaultOperator() operator {
	return operator{actor: SystemUser(), from: hostname(), via: contract.ViaCLI}
}

// SystemUser returns the user of this process, or "".
func SystemUser() string {
	if known, err := user.Current(); err == nil {
		return known.Username
	}
	return os.Getenv("USER")
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown-host"
	}
	return host
}

// OperatorIdentity returns the client identity of an actor on this host, for [Options.Identity].
func OperatorIdentity(program, actor string) string {
	return auditlog.Identity(program, cmp.Or(actor, "unknown"), hostname())
}

// As returns the client with another actor in the audit log. It calls warn when an action could not be recorded.
func (c *Client) As(actor string, warn func(error)) *Client {
	other := *c
	other.operator.actor, other.operator.warn = actor, warn
	return &other
}

// Audit is the client for the audit log.
type Audit struct{ client *Client }

// Audit returns the client for the audit log.
func (c *Client) Audit() Audit { return Audit{c} }

// Record adds completed actions to the audit log that no workflow of ours receives, also after the context has ended.
// It only passes a failure to warn.
func (a Audit) Record(ctx context.Context, entries ...contract.AuditEntry) {
	if len(entries) == 0 {
		return
	}
	now := time.Now()
	request, repeatable := RequestOf(ctx)
	for i := range entries {
		if repeatable && entries[i].ID == "" { // The audit log ignores entries with a recorded ID.
			entries[i].ID = fmt.Sprintf("%s/%s/%s", request.ID, entries[i].Action, entries[i].Object)
		}
		entries[i].ID, entries[i].Kind, entries[i].At = cmp.Or(entries[i].ID, rand.Text()), contract.AuditOperator, now
		if entries[i].Actor == "" {
			entries[i].Actor, entries[i].From = a.client.operator.actor, a.client.operator.from
			entries[i].Via, entries[i].Auth = a.client.operator.via, a.client.operator.auth
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	if err := auditlog.Record(limited, a.client.temporal, contract.AuditRecord{Entries: entries}); err != nil && a.client.operator.warn != nil {
		a.client.operator.warn(fmt.Errorf("it was done, but its audit entry could not be written (%s): %w", entries[0].Action, err))
	}
}

// AuditFound is the result of [Audit.Read].
type AuditFound struct {
	// Matching entries by time. Summed decisions are recorded later than they happened.
	Entries []contract.AuditEntry
	// First and Last are the lowest and the highest Seq among them, or 0 without entries.
	First, Last int64
	// More is true if the limit left out older matching entries.
	More bool
	// Kept and Dropped count all entries of the log. Limit is the most entries kept.
	Kept    int
	Dropped int64
	Limit   int
}

// Read returns the newest matching entries, at most filter.Limit (0: all). It needs a control plane.
func (a Audit) Read(ctx context.Context, filter contract.AuditFilter) (AuditFound, error) {
	var all AuditFound
	limit := filter.Limit
	filter.Object = cmp.Or(filter.Object, filter.Of) // A control plane of an earlier build knows only this.
	for {
		if limit > 0 {
			filter.Limit = limit - len(all.Entries)
		}
		page, err := query[contract.AuditPage](ctx, a.client, RunRef{WorkflowID: contract.AuditWorkflowID}, contract.QueryAudit, filter)
		if errors.Is(err, ErrNotFound) {
			return all.sorted(), nil
		}
		if err != nil {
			return all, err
		}
		all.Entries = append(slices.Clip(page.Entries), all.Entries...)
		all.Kept, all.Dropped, all.Limit, all.More = page.Kept, page.Dropped, page.Limit, page.More
		if !page.More || len(page.Entries) == 0 || limit > 0 && len(all.Entries) >= limit {
			return all.sorted(), nil
		}
		filter.Before = page.Entries[0].Seq
	}
}

func (a AuditFound) sorted() AuditFound {
	if n := len(a.Entries); n > 0 {
		a.First, a.Last = a.Entries[0].Seq, a.Entries[n-1].Seq
	}
	slices.SortStableFunc(a.Entries, func(x, y contract.AuditEntry) int { return x.At.Compare(y.At) })
	return a
}
