package audit

import (
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Unknown is the actor of a message that does not name its sender.
const Unknown = "unknown"

// Bounds of the fields, in bytes. What is longer is cut, visibly.
const (
	maxName   = 128
	maxObject = 256
	maxText   = 512
	// overhead is the weight of an entry besides its texts.
	overhead = 96
)

// Bounded is the entry with all its fields within their bounds, as it is kept.
// A sender of entries bounds them first, so that its message is not larger than a
// message may be.
func Bounded(e contract.AuditEntry) contract.AuditEntry {
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
func kept(e contract.AuditEntry) contract.AuditEntry {
	e = Bounded(e)
	e.ID = ""
	if e.Kind == contract.AuditOperator && e.Actor == "" {
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

func weight(e contract.AuditEntry) int {
	return overhead + len(e.Kind) + len(e.Actor) + len(e.From) + len(e.Action) + len(e.Code) + len(e.JobType) +
		len(e.Object) + len(e.Before) + len(e.After) + len(e.Detail)
}
