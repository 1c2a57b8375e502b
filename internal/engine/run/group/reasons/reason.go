// Package reasons has the reason for which a group ends, leaves its turn, or does not begin.
package reasons

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Reason is one of them. The zero value is none.
type Reason struct {
	Code contract.Code `json:"code,omitempty"`
	// Until is the end of the reason, for WINDOW_CLOSED_UNTIL.
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail,omitempty"`
}

// String is the reason in the record, the audit log and the terminal: the code first.
func (r Reason) String() string {
	code := string(r.Code)
	if !r.Until.IsZero() {
		code += " " + At(r.Until)
	}
	return Joined(": ", code, r.Detail)
}

// At is a time in a reason.
func At(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Joined puts a separator between two texts, if neither is empty.
func Joined(by, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + by + b
}
