package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The sentences of this package. They are data: the record, the audit log and the
// terminal show them as they are.
const (
	textCanceled        = "canceled"
	textCanceledOutside = "canceled from outside: "
	textDoneBut         = "it was done, but "
	textCannotAdd       = "it was done, but the tasks it returned cannot be added: "
	textHeld            = "held after a failure: retry or skip tasks, or release the run"
	textNotBegun        = "the run has not begun"
	textRolls           = "tasks are about to start; the run continues as new first"
	textStarting        = "it is about to start"
	textPerson          = "it waits for a person"
	textYielded         = "a place: what has them all waits itself"
	textAdmitted        = "a place; it has its resources"
	textNotApproved     = "nobody approved it in time"
)

func textTooLarge(size int) string {
	return fmt.Sprintf("its command and params have %d bytes, the limit is %d: pass a reference instead of the data", size, maxCarried)
}

func textDeadline(after time.Duration) string {
	return "the deadline of " + after.String() + " is over"
}

func textApproval(timeout fmt.Stringer) string {
	return "nobody approved it within " + timeout.String()
}

func textRejected(by, note string) string {
	text := "rejected"
	if by != "" {
		text += " by " + by
	}
	if note != "" {
		text += ": " + note
	}
	return text
}

func (p pause) text() string {
	text := "the run is paused"
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Note != "" {
		text += ": " + p.Note
	}
	return text
}

// poolsText names the quantities for people.
func poolsText(pools map[string]int) string {
	parts := make([]string, 0, len(pools))
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		parts = append(parts, fmt.Sprintf("%d of pool %s", pools[pool], pool))
	}
	return strings.Join(parts, ", ")
}

// maxMessage bounds what is kept of one failure.
const maxMessage = 512

func clip(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
