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

// auditTimeout bounds how long recording may hold up what was done already.
const auditTimeout = 5 * time.Second

// operator is the person or program that uses a client.
type operator struct {
	actor, from, via, auth string
	warn                   func(error)
}

func defaultOperator() operator {
	return operator{actor: SystemUser(), from: hostname(), via: contract.ViaCLI}
}

// SystemUser is the user that the process runs as, or "".
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

// OperatorIdentity is the identity for a client through which actor acts, from
// this host: what the server then says of every request is what the audit log
// says. See [Options.Identity].
func OperatorIdentity(program, actor string) string {
	return auditlog.Identity(program, cmp.Or(actor, "unknown"), hostname())
}

// As returns the client with another actor in the audit log. warn is told if
// something that was done could not be recorded; nil: nobody is. The default is
// the user that the process runs as.
func (c *Client) As(actor string, warn func(error)) *Client {
	other := *c
	other.operator.actor, other.operator.warn = actor, warn
	return &other
}

// Audit is the part of the client about the audit log.
type Audit struct{ client *Client }

// Audit gives the part of the client about the audit log.
func (c *Client) Audit() Audit { return Audit{c} }

// Record writes operators' actions into the audit log that no workflow of ours
// receives, after they were done. That it fails is no reason to say that the
// action failed: it is told to whoever wants to be warned. An interrupted caller
// does not keep it from being recorded.
func (a Audit) Record(ctx context.Context, entries ...contract.AuditEntry) {
	if len(entries) == 0 {
		return
	}
	now := time.Now()
	for i := range entries {
		if request, repeatable := RequestOf(ctx); repeatable && entries[i].ID == "" { // Entries that are recorded already are left out.
			entries[i].ID = fmt.Sprintf("%s/%s/%d", request.ID, entries[i].Action, i)
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
		a.client.operator.warn(fmt.Errorf("it was done, but the audit log does not know it (%s): %w", entries[0].Action, err))
	}
}

// AuditFound is what [Audit.Read] found.
type AuditFound struct {
	// Entries match the filter, oldest first by the time at which they happened.
	// Decisions that are added up are recorded later than that.
	Entries []contract.AuditEntry
	// Last is the highest Seq among them; 0: there are none.
	Last int64
	// More: the limit left out older ones that match too.
	More bool
	// Kept and Dropped count all entries of the log, Limit is how many it keeps.
	Kept    int
	Dropped int64
	Limit   int
}

// Read reads the audit log: the newest entries that match, at most
// filter.Limit; 0: all. A log that nobody has written to is empty. It needs a
// control plane.
func (a Audit) Read(ctx context.Context, filter contract.AuditFilter) (AuditFound, error) {
	var all AuditFound
	limit := filter.Limit
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

// sorted puts the entries, which are in the order of recording, into that of
// time.
func (a AuditFound) sorted() AuditFound {
	if n := len(a.Entries); n > 0 {
		a.Last = a.Entries[n-1].Seq
	}
	slices.SortStableFunc(a.Entries, func(x, y contract.AuditEntry) int { return x.At.Compare(y.At) })
	return a
}
