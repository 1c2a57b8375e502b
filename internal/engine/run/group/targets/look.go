package targets

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

// Look is the last look at all workers while the run lasts. It does not travel.
type Look struct {
	// Known: no worker was due that only the next workflow run can start.
	Known bool
	// Changes is the number of changes of the fleet then.
	Changes uint64
	// Due is the result of [Book.DueAt] then. Until is the end of the first pause of a worker; zero: none
	// has one.
	Due, Until time.Time
}

// Looked returns a look. Cool is the end of the first cool-down of a worker, or zero.
func (b *Book) Looked(known bool, changes uint64, cool, now time.Time) Look {
	due := b.DueAt(now)
	return Look{Known: known, Changes: changes, Due: due, Until: instant.Earlier(due, cool)}
}

// Holds reports whether another look would find nothing new.
func (l Look) Holds(changes uint64, now time.Time) bool {
	return l.Known && l.Changes == changes && (l.Until.IsZero() || now.Before(l.Until))
}
