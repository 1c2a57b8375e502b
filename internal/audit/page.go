package audit

import (
	"slices"
	"strings"
	"time"
)

// Bounds of a page, so that an answer stays far below what the server lets pass.
const (
	MaxPageEntries = 500
	MaxPageBytes   = 256 << 10
)

// Filter keeps entries. Empty fields keep all.
type Filter struct {
	// Since and Until bound the time, both inclusive.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// JobType, Actor and Kind are exact, Object is a prefix.
	JobType string `json:"job_type,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Object  string `json:"object,omitempty"`
	// After and Before bound Seq, both exclusive; 0: no bound.
	After  int64 `json:"after,omitempty"`
	Before int64 `json:"before,omitempty"`
	// Limit is the most entries of a page: the newest ones that match. 0, or
	// more than a page holds: as many as a page holds.
	Limit int `json:"limit,omitempty"`
}

// Match reports whether the filter keeps the entry.
func (f Filter) Match(e Entry) bool {
	return (f.After == 0 || e.Seq > f.After) && (f.Before == 0 || e.Seq < f.Before) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || !e.At.After(f.Until)) &&
		(f.JobType == "" || e.JobType == f.JobType) && (f.Actor == "" || e.Actor == f.Actor) &&
		(f.Kind == "" || e.Kind == f.Kind) && strings.HasPrefix(e.Object, f.Object)
}

// Page is an answer, oldest entry first.
type Page struct {
	Entries []Entry `json:"entries"`
	// More: older entries match too. Ask again with Before = the first Seq.
	More bool `json:"more,omitempty"`
	// Kept and Dropped count all entries, whatever was asked for; Limit is how
	// many are kept at most.
	Kept    int   `json:"kept"`
	Dropped int64 `json:"dropped"`
	Limit   int   `json:"limit"`
}

// Page returns the newest entries that match.
func (l *Log) Page(filter Filter) Page {
	page := Page{Entries: []Entry{}, Kept: len(l.entries), Dropped: l.dropped, Limit: l.limit}
	most := MaxPageEntries
	if filter.Limit > 0 {
		most = min(most, filter.Limit)
	}
	bytes := 0
	for _, entry := range slices.Backward(l.entries) {
		if !filter.Match(entry) {
			continue
		}
		bytes += entry.weight()
		if len(page.Entries) == most || bytes > MaxPageBytes && len(page.Entries) > 0 {
			page.More = true
			break
		}
		page.Entries = append(page.Entries, entry)
	}
	slices.Reverse(page.Entries)
	return page
}
