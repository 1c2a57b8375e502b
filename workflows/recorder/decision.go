package recorder

import (
	"cmp"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Actions of scheduler entries: decisions and observations of a workflow.
const (
	Refused = "refused"
	Delayed = "delayed"
	Ended   = "ended"
	Noticed = "noticed"
)

// maxAggregates bounds the decisions that are aggregated at once.
const maxAggregates = 50

// Decision is something that the workflow refused, delayed or did again.
type Decision struct {
	Action, Code string
	// Object is the job or worker concerned. JobType is set if the workflow serves several.
	Object, JobType, Detail string
	// N is how many it were; 0: one. Waited is how long the longest was delayed.
	N      int
	Waited time.Duration
}

// key identifies decisions that repeat. Entries of a run are about the run.
func (r *Recorder) key(action, code, object string) string {
	return action + " " + code + " " + cmp.Or(r.base.Object, object)
}

// Decided adds a decision to those of its code. The entry of a run names the first objects in its detail. A workflow
// that serves all has an entry for each object while they are few.
func (r *Recorder) Decided(d Decision) {
	now := workflow.Now(r.ctx)
	r.fresh = true
	if len(r.aggregates) == 0 {
		r.flushAt = now.Add(r.wait)
	}
	if news := now.Add(r.pace); !r.reported[r.key(d.Action, d.Code, d.Object)] && r.flushAt.After(news) {
		r.flushAt = news
	}
	aggregate := r.aggregateOf(d)
	if aggregate == nil {
		r.aggregates = append(r.aggregates, contract.AuditEntry{
			Kind: contract.AuditScheduler, Action: d.Action, Code: d.Code, JobType: d.JobType, Object: d.Object, Since: now,
		})
		aggregate = &r.aggregates[len(r.aggregates)-1]
		if r.base.Object != "" {
			aggregate.Object = r.base.Object
		}
	}
	aggregate.At, aggregate.Longest = now, max(aggregate.Longest, jobtype.Duration(d.Waited))
	aggregate.Count += max(d.N, 1)
	text := d.Detail
	if d.Object != aggregate.Object && d.Object != "" {
		text = strings.TrimSuffix(d.Object+": "+d.Detail, ": ")
	}
	aggregate.Detail = extended(aggregate.Detail, text)
}

func (r *Recorder) aggregateOf(d Decision) *contract.AuditEntry {
	var same *contract.AuditEntry
	for i := range r.aggregates {
		one := &r.aggregates[i]
		if one.Action != d.Action || one.Code != d.Code {
			continue
		}
		if one.Object == d.Object || r.base.Object != "" {
			return one
		}
		same = one
	}
	if len(r.aggregates) < maxAggregates {
		return nil
	}
	return same
}

// maxDetail is the length from which details are not extended; the count continues.
const maxDetail = 300

func extended(text, more string) string {
	switch {
	case more == "" || strings.Contains(text, more):
		return text
	case text == "":
		return jobtype.Clip(more, maxDetail)
	case len(text)+len(more) > maxDetail:
		if strings.HasSuffix(text, "…") {
			return text
		}
		return text + "; …"
	}
	return text + "; " + more
}

// If an aggregate repeats, the next ones are aggregated for longer.
func (r *Recorder) flushAggregates() {
	reported := map[string]bool{}
	repeats := false
	for _, aggregate := range r.aggregates {
		key := r.key(aggregate.Action, aggregate.Code, aggregate.Object)
		reported[key], repeats = true, repeats || r.reported[key]
		r.add(aggregate, sender{})
	}
	if repeats {
		r.wait = min(r.wait*2, longestPace)
	} else {
		r.wait = r.pace
	}
	r.reported, r.aggregates, r.flushAt = reported, nil, time.Time{}
}
