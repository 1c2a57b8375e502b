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

// match reports whether the filter keeps the entry.
func match(f contract.AuditFilter, e contract.AuditEntry) bool {
	return (f.After == 0 || e.Seq > f.After) && (f.Before == 0 || e.Seq < f.Before) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || !e.At.After(f.Until)) &&
		(f.JobType == "" || e.JobType == f.JobType) && (f.Actor == "" || e.Actor == f.Actor) &&
		(f.Kind == "" || e.Kind == f.Kind) && strings.HasPrefix(e.Object, f.Object)
}

// Page returns the newest entries that match.
func (l *Log) Page(filter contract.AuditFilter) contract.AuditPage {
	page := contract.AuditPage{Entries: []contract.AuditEntry{}, Kept: len(l.entries), Dropped: l.dropped, Limit: l.limit}
	most := MaxPageEntries
	if filter.Limit > 0 {
		most = min(most, filter.Limit)
	}
	bytes := 0
	for _, entry := range slices.Backward(l.entries) {
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
