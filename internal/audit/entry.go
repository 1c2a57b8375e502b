package audit

import (
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Kinds of entries.
const (
	// KindOperator is something that a person, or a program in their stead, did.
	KindOperator = "operator"
	// KindScheduler is something that Roundsman refused, delayed or did again.
	KindScheduler = "scheduler"
)

// Unknown is the actor of a message that does not say who sent it.
const Unknown = "unknown"

// Entry is one line of the log. Its fields are those of the wire, so that one
// converts to the other.
type Entry struct {
	// Seq counts the entries ever taken, from 1. The log gives it.
	Seq int64 `json:"seq"`
	// ID tells a repeated entry from a new one; it is not kept.
	ID string `json:"id,omitempty"`
	// At is when it happened; of several, the last.
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	// Actor and From say who and from where; a scheduler's entry has none.
	Actor string `json:"actor"`
	From  string `json:"from"`
	// Action is what an operator did, such as jobtype.pause, or what kind of
	// decision the scheduler took: refused, delayed, replaced, noticed.
	Action string `json:"action"`
	// Code says why the scheduler decided so.
	Code    string `json:"code"`
	JobType string `json:"job_type"`
	// Object is what it was done to: a run, a job, a worker, a pool.
	Object string `json:"object"`
	Before string `json:"before"`
	After  string `json:"after"`
	Detail string `json:"detail"`
	// Count is how often it happened since Since.
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"`
	// Longest is the longest delay among them.
	Longest jobtype.Duration `json:"longest,omitempty"`
}

// Bounds of the fields, in bytes. What is longer is cut, visibly.
const (
	maxName   = 128
	maxObject = 256
	maxText   = 512
	// overhead is what an entry weighs beside its texts.
	overhead = 96
)

// Bounded is the entry with all its fields within their bounds, as it is kept.
// Whoever sends entries bounds them first, so that a message of them is not
// larger than a message may be.
func (e Entry) Bounded() Entry {
	for _, field := range []struct {
		text *string
		most int
	}{
		{&e.Kind, maxName},
		{&e.Actor, maxName},
		{&e.From, maxName},
		{&e.Action, maxName},
		{&e.Code, maxName},
		{&e.JobType, maxName},
		{&e.Object, maxObject},
		{&e.Before, maxText},
		{&e.After, maxText},
		{&e.Detail, maxText},
	} {
		*field.text = Clip(*field.text, field.most)
	}
	e.Count = max(e.Count, 1)
	return e
}

// kept is the entry as the log keeps it.
func (e Entry) kept() Entry {
	e = e.Bounded()
	e.ID = ""
	if e.Kind == KindOperator && e.Actor == "" {
		e.Actor = Unknown
	}
	return e
}

// Clip cuts text to at most so many bytes, visibly, and makes it valid UTF-8.
func Clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= most {
		return text
	}
	const mark = "…"
	cut := max(most-len(mark), 0)
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + mark
}

func (e Entry) weight() int {
	return overhead + len(e.Kind) + len(e.Actor) + len(e.From) + len(e.Action) + len(e.Code) + len(e.JobType) +
		len(e.Object) + len(e.Before) + len(e.After) + len(e.Detail)
}
