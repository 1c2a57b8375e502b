package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// The records of failures must leave room for claims in the state.
const (
	// Beyond a bound, records without a hold are dropped first, the oldest last failure first; then by the earliest
	// end of their hold.
	MaxTrackedKeys  = 1000
	MaxTrackedTypes = 500
	// SeriesLimit is the age of the last failure at which an unbroken series is dropped.
	SeriesLimit = 30 * 24 * time.Hour
	// repeatLimit: a forgiven key ignores failures from before. Reports are repeated within seconds.
	repeatLimit   = time.Hour
	trimPause     = time.Minute
	maxErrorBytes = 160

	recordWeight  = 48
	failureWeight = 11
)

// rule is a [contract.RetryBudgetRule]; without one it sets no bound.
type rule struct{ *contract.RetryBudgetRule }

func (r rule) set() bool { return r.RetryBudgetRule != nil && (r.Count > 0 || r.HardTimeout > 0) }

func perKey(b *contract.RetryBudget) rule {
	if b == nil {
		return rule{}
	}
	return rule{b.PerKey}
}

func perType(b *contract.RetryBudget) rule {
	if b == nil {
		return rule{}
	}
	return rule{b.PerType}
}

type off struct {
	Code     string                    `json:"code"`
	Since    time.Time                 `json:"since"`
	Until    time.Time                 `json:"until"`
	Failures int                       `json:"failures,omitempty"`
	Rule     *contract.RetryBudgetRule `json:"rule,omitempty"`
	By       string                    `json:"by,omitempty"`
}

type record struct {
	JobType string `json:"t"`
	Key     string `json:"k,omitempty"`
	// Failures are the newest ones that count, ascending.
	Failures []failure `json:"f,omitempty"`
	// First failure of the series, newest success, newest failure, as Unix times in milliseconds; 0 without.
	First  int64 `json:"s,omitempty"`
	Broken int64 `json:"b,omitempty"`
	Last   int64 `json:"l,omitempty"`
	// Cleared is the time up to which failures are ignored.
	Cleared int64 `json:"c,omitempty"`
	// Keep is the time at which the record expires.
	Keep  int64  `json:"u,omitempty"`
	Error string `json:"e,omitempty"`
	Off   *off   `json:"o,omitempty"`
}

func (r *record) weight() int {
	weight := recordWeight + len(r.JobType) + len(r.Key) + len(r.Error) + failureWeight*len(r.Failures)
	if r.Off != nil {
		weight += recordWeight + len(r.Off.By)
	}
	return weight
}

// failure is one failed attempt. ID names the attempt: a group that ends may report it again with a later time, because
// the server may refuse its last workflow task.
type failure struct {
	At int64  `json:"a"`
	ID uint32 `json:"i"`
}

func (f failure) compare(other failure) int {
	return cmp.Or(cmp.Compare(f.At, other.At), cmp.Compare(f.ID, other.ID))
}

func (r *record) off(now time.Time) *off {
	if r == nil || r.Off == nil || !r.Off.Until.After(now) {
		return nil
	}
	return r.Off
}

func (r *record) hold(now time.Time) *contract.AdmissionHold {
	found := r.off(now)
	if found == nil {
		return nil
	}
	return &contract.AdmissionHold{
		JobType: r.JobType, DedupeKey: r.Key, Code: found.Code, Since: found.Since, Until: found.Until,
		Failures: found.Failures, Rule: found.Rule, LastError: r.Error, By: found.By,
	}
}

func (r *record) keep(until int64) { r.Keep = max(r.Keep, until) }

// fail reports whether a failure broke the rule. Repeated, forgotten and held-back failures change nothing.
func (r *record) fail(f failure, message string, rule rule, now time.Time) bool {
	known := slices.ContainsFunc(r.Failures, func(one failure) bool { return one.ID == f.ID })
	if known || f.At <= r.Cleared || r.off(now) != nil {
		return false
	}
	at, _ := slices.BinarySearchFunc(r.Failures, f, failure.compare)
	r.Failures = slices.Insert(r.Failures, at, f)
	if over := len(r.Failures) - max(rule.Count, 1); over > 0 {
		r.Failures = slices.Delete(r.Failures, 0, over)
	}
	if f.At >= r.Last {
		r.Last, r.Error = f.At, clip(message)
	}
	if f.At > r.Broken && (r.First == 0 || f.At < r.First) {
		r.First = f.At
	}
	r.keep(r.Last + rule.Window.Std().Milliseconds())
	if rule.HardTimeout > 0 {
		r.keep(r.Last + SeriesLimit.Milliseconds())
	}
	return r.judge(rule, now)
}

// The rule is judged at the time of the newest failure, even if the report is late.
func (r *record) judge(rule rule, now time.Time) bool {
	from := r.Last - rule.Window.Std().Milliseconds()
	n := lists.Count(r.Failures, func(f failure) bool { return f.At > from })
	counted := rule.Count > 0 && n >= rule.Count
	tooLong := rule.HardTimeout > 0 && r.First > 0 && r.Last-r.First >= rule.HardTimeout.Std().Milliseconds()
	if !counted && !tooLong {
		return false
	}
	since := time.UnixMilli(r.Last).UTC()
	r.Off = &off{Code: contract.HoldRetryBudget, Since: since, Until: since.Add(rule.DisableFor.Std()), Failures: n, Rule: rule.RetryBudgetRule}
	r.forget(r.Last)
	r.keep(r.Off.Until.UnixMilli())
	return r.off(now) != nil
}

// Late reports of forgotten failures are ignored.
func (r *record) forget(at int64) {
	r.Cleared = max(r.Cleared, at)
	r.Failures = slices.DeleteFunc(r.Failures, func(f failure) bool { return f.At <= r.Cleared })
	r.First = 0
	for _, f := range slices.Backward(r.Failures) {
		if f.At > r.Broken {
			r.First = f.At
		}
	}
	r.keep(r.Cleared + repeatLimit.Milliseconds())
}

func clip(message string) string { return jobtype.ClipCause(message, maxErrorBytes) }
