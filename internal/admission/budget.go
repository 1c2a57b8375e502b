package admission

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Bounds of what is remembered of failures. It travels with the state of the
// desk, which has to leave room for the claims.
const (
	// MaxKeyCount and MaxTypeCount bound [Rule.Count]: that many times are kept
	// for each key, and for each job type.
	MaxKeyCount  = 25
	MaxTypeCount = 500
	// MaxTrackedKeys is how many keys with failures, disabled or marked, are
	// remembered. Over it, keys that are neither disabled nor marked are
	// forgotten first, the one that failed longest ago before the others, then
	// those whose time is up soonest.
	MaxTrackedKeys = 1000
	// SeriesLimit is how long after its last failure a series that no success
	// has broken is forgotten.
	SeriesLimit = 30 * 24 * time.Hour
	// repeatLimit is how long after a key was forgiven a failure from before is
	// recognized and ignored; reports are repeated within seconds.
	repeatLimit = time.Hour
	// maxErrorBytes bounds the message kept of the last failure.
	maxErrorBytes = 160
)

// Rule is how much may fail before it is disabled. A zero Rule sets no bound.
type Rule struct {
	// Count is the number of failures within Window that disables: the Count-th
	// one does. 0: no number does.
	Count  int           `json:"count,omitempty"`
	Window time.Duration `json:"window,omitempty"`
	// HardTimeout disables at a failure that comes this long or longer after the
	// first one of a series that no success has broken. 0: however long.
	HardTimeout time.Duration `json:"hard_timeout,omitempty"`
	// DisableFor is for how long.
	DisableFor time.Duration `json:"disable_for,omitempty"`
}

func (r Rule) set() bool { return r.Count > 0 || r.HardTimeout > 0 }

// Budget is what a job type may fail, for each dedupe key and in all.
type Budget struct {
	PerKey  Rule `json:"per_key,omitzero"`
	PerType Rule `json:"per_type,omitzero"`
}

// Off says that a key or a job type is held back, and until when.
type Off struct {
	// Code is [CodeBudget] or [CodeMarkedDone].
	Code  Code      `json:"code"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Failures is how many failures led to it, Rule the one that they broke,
	// Error the last one's message.
	Failures int    `json:"failures,omitempty"`
	Rule     Rule   `json:"rule,omitzero"`
	Error    string `json:"error,omitempty"`
	// By is who marked it.
	By string `json:"by,omitempty"`
}

// Text is a sentence for people.
func (o Off) Text() string {
	until := o.Until.UTC().Format(time.RFC3339)
	if o.Code == CodeMarkedDone {
		return fmt.Sprintf("marked as done by %s until %s", cmp.Or(o.By, "an operator"), until)
	}
	why := fmt.Sprintf("%d failures within %s", o.Failures, o.Rule.Window)
	if o.Rule.Count == 0 || o.Failures < o.Rule.Count {
		why = fmt.Sprintf("failing for %s without a success", o.Rule.HardTimeout)
	}
	text := fmt.Sprintf("disabled until %s after %s", until, why)
	if o.Error != "" {
		text += "; the last one: " + o.Error
	}
	return text
}

// record is what is remembered of a key, or of a job type.
type record struct {
	JobType string `json:"t"`
	Key     string `json:"k,omitempty"`
	// Failures are the newest ones that count, ascending.
	Failures []failure `json:"f,omitempty"`
	// First is the first failure of the series, 0: there is none. Broken is the
	// newest success: what failed before is not part of the series. Last is the
	// newest failure. All are milliseconds of the Unix time.
	First  int64 `json:"s,omitempty"`
	Broken int64 `json:"b,omitempty"`
	Last   int64 `json:"l,omitempty"`
	// Cleared: failures up to here are forgotten.
	Cleared int64 `json:"c,omitempty"`
	// Keep is until when the record says anything.
	Keep  int64  `json:"u,omitempty"`
	Error string `json:"e,omitempty"`
	Off   *Off   `json:"o,omitempty"`
}

// failure is one failed attempt. ID tells those of one moment apart.
type failure struct {
	At int64  `json:"a"`
	ID uint32 `json:"i"`
}

func (f failure) compare(other failure) int {
	return cmp.Or(cmp.Compare(f.At, other.At), cmp.Compare(f.ID, other.ID))
}

// off is what holds it back at now, or nil.
func (r *record) off(now time.Time) *Off {
	if r == nil || r.Off == nil || !r.Off.Until.After(now) {
		return nil
	}
	return r.Off
}

func (r *record) keep(until int64) { r.Keep = max(r.Keep, until) }

// fail takes a failure in and reports whether it made the rule say stop. One
// that is known already, or forgotten, changes nothing; neither does one of
// something that is held back: the bound starts anew afterwards.
func (r *record) fail(f failure, message string, rule Rule, now time.Time) bool {
	at, known := slices.BinarySearchFunc(r.Failures, f, failure.compare)
	if known || f.At <= r.Cleared || r.off(now) != nil {
		return false
	}
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
	r.keep(r.Last + rule.Window.Milliseconds())
	if rule.HardTimeout > 0 {
		r.keep(r.Last + SeriesLimit.Milliseconds())
	}
	return r.judge(rule, now)
}

// judge looks at the newest failure: at its time the rule may have been broken,
// however late it was told.
func (r *record) judge(rule Rule, now time.Time) bool {
	from, n := r.Last-rule.Window.Milliseconds(), 0
	for _, f := range r.Failures {
		if f.At > from {
			n++
		}
	}
	counted := rule.Count > 0 && n >= rule.Count
	tooLong := rule.HardTimeout > 0 && r.First > 0 && r.Last-r.First >= rule.HardTimeout.Milliseconds()
	if !counted && !tooLong {
		return false
	}
	since := time.UnixMilli(r.Last).UTC()
	r.Off = &Off{Code: CodeBudget, Since: since, Until: since.Add(rule.DisableFor), Failures: n, Rule: rule, Error: r.Error}
	r.forget(r.Last)
	r.keep(r.Off.Until.UnixMilli())
	return r.off(now) != nil
}

// forget drops the failures up to then; those that are told late stay away.
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

func clip(message string) string {
	if len(message) <= maxErrorBytes {
		return message
	}
	cut := maxErrorBytes
	for cut > 0 && message[cut]&0xC0 == 0x80 {
		cut--
	}
	return message[:cut] + "…"
}
