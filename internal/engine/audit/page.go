package audit

import (
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of a page, far below the server's limit of an answer.
const (
	MaxPageEntries = 500
	MaxPageBytes   = 256 << 10
)

func match(f contract.AuditFilter, e contract.AuditEntry) bool {
	return (f.After == 0 || e.Seq > f.After) && (f.Before == 0 || e.Seq < f.Before) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || !e.At.After(f.Until)) &&
		(f.JobType == "" || e.JobType == f.JobType) && (f.Actor == "" || e.Actor == f.Actor) &&
		(f.Kind == "" || e.Kind == f.Kind) && strings.HasPrefix(e.Object, f.Object) &&
		(f.Of == "" || e.Object == f.Of || strings.HasPrefix(e.Object, f.Of+"/"))
}

// Page returns the newest entries that match.
func (l *Log) Page(filter contract.AuditFilter) contract.AuditPage {
	page := contract.AuditPage{Entries: []contract.AuditEntry{}, Kept: len(l.entries), Dropped: l.dropped, Limit: l.limit}
	most := MaxPageEntries
	if filter.Limit > 0 {
		most = min(most, filter.Limit)
	}
	bytes, changed := 0, map[change]bool{}
	for _, entry := range slices.Backward(l.entries) {
		if subject := subjectOf(entry.Action); subject != "" {
			one := change{entry.Object, subject}
			entry.Superseded, changed[one] = changed[one], true
		}
		if !match(filter, entry) {
			continue
		}
		if !filter.Former {
			entry.Former, entry.Restorable = nil, len(entry.Former) > 0
		}
		bytes += weight(entry)
		if len(page.Entries) == most || bytes > MaxPageBytes && len(page.Entries) > 0 {
			page.More = true
			break
		}
		page.Entries = append(page.Entries, entry)
	}
	slices.Reverse(page.Entries)
	return page
}

type change struct{ object, subject string }

// subjectOf names the property that an operator's action changes; empty: none that can change again.
func subjectOf(action string) string {
	switch action {
	case "jobtype.pause", "jobtype.resume", "run.pause", "run.resume", "dag.pause", "dag.resume":
		return "pause"
	case "jobtype.set", "apply.create", "apply.update", "apply.drift", "apply.delete", contract.AuditRestore:
		return "settings"
	case "worker.cordon", "worker.drain", "worker.uncordon":
		return "mode"
	case "worker.resize", "pool.resize":
		return "size"
	case "hold.mark-done", "hold.forgive", "hold.re-enable":
		return "hold"
	}
	return ""
}
