package audit

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Unknown is the actor of a message that does not name its sender.
const Unknown = "unknown"

// Bounds of the fields, in bytes. Longer texts are cut, visibly.
const (
	maxName   = 128
	maxObject = 256
	maxText   = 512
	// overhead is the weight of an entry besides its texts.
	overhead = 96
)

// Bounded is the entry with all its fields within their bounds. Senders bound entries, too, for the size of a message.
func Bounded(e contract.AuditEntry) contract.AuditEntry {
	for _, field := range []struct {
		text *string
		most int
	}{
		{&e.Kind, maxName},
		{&e.Actor, maxName},
		{&e.From, maxName},
		{&e.Via, maxName},
		{&e.Auth, maxName},
		{&e.Action, maxName},
		{&e.Code, maxName},
		{&e.JobType, maxName},
		{&e.Object, maxObject},
		{&e.Before, maxText},
		{&e.After, maxText},
		{&e.Detail, maxText},
	} {
		*field.text = jobtype.Clip(*field.text, field.most)
	}
	if len(e.Former) > contract.MaxFormer {
		e.Former = nil // A part of it is of no use.
	}
	e.Count = max(e.Count, 1)
	return e
}

func kept(e contract.AuditEntry) contract.AuditEntry {
	e = Bounded(e)
	e.ID, e.Restorable, e.Superseded = "", false, false
	if e.Kind == contract.AuditOperator && e.Actor == "" {
		e.Actor = Unknown
	}
	return e
}

func weight(e contract.AuditEntry) int {
	return overhead + len(e.Kind) + len(e.Actor) + len(e.From) + len(e.Via) + len(e.Auth) + len(e.Action) + len(e.Code) + len(e.JobType) +
		len(e.Object) + len(e.Before) + len(e.After) + len(e.Detail) + len(e.Former)
}
