package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// StoreRecord stores jobs that have ended in a page. The answer is [RecordStored] or
// [RecordNotStored].
type StoreRecord struct{ Segment []byte }

// RecordStored answers [StoreRecord].
type RecordStored struct{ Page string }

// RecordNotStored answers [StoreRecord]: it will be ordered again.
type RecordNotStored struct{}

func (e RecordStored) apply(g *Group, _ time.Time) { g.jobs.Record.Stored(e.Page) }

func (RecordNotStored) apply(g *Group, now time.Time) { g.jobs.Record.Failed(now) }

func (g *work) storeRecord(now time.Time) {
	if segment := g.jobs.Record.Store(now); segment != nil {
		g.do(StoreRecord{Segment: segment})
	}
}

// LastSegment returns the last part of the record, to be stored after [End]; nil if there is none.
// [Group.LastStored] is the answer.
func (g *work) LastSegment(now time.Time) []byte {
	g.jobs.Record.Finish()
	return g.jobs.Record.Store(now)
}

// LastStored records the page of the last segment.
func (g *work) LastStored(page string) { g.jobs.Record.Stored(page) }

// ItemRecord is the record of the jobs, for the result; nil: there were none.
func (g *work) ItemRecord() *contract.ItemRecord {
	record := contract.ItemRecord{Pages: g.jobs.Record.Pages(), Rest: g.jobs.Record.Rest(), Proposals: g.jobs.Backlog.Table()}
	if len(record.Pages) == 0 && len(record.Rest) == 0 {
		return nil
	}
	return &record
}
