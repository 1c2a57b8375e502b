// Package losses counts the attempts of an item that were lost with their workers.
package losses

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

const (
	// Window is the time for which a loss counts: a job of months survives a crash each week.
	Window = 72 * time.Hour
	// apartAfter is the number of losses after which an item is kept apart. After one loss, mostly of
	// a whole node, all its items must run again at once.
	apartAfter = 2
)

// Loss is an attempt that was lost with its worker.
type Loss struct {
	Attempt int       `json:"a"`
	Worker  string    `json:"w,omitempty"`
	At      time.Time `json:"t"`
}

// List has the losses of an item within [Window], the oldest first.
type List []Loss

// Add adds a loss, and drops those before the window.
func (l List) Add(attempt int, worker string, now time.Time) List {
	return append(l.Recent(now), Loss{Attempt: attempt, Worker: worker, At: now})
}

// Recent returns the losses within the window.
func (l List) Recent(now time.Time) List {
	if len(l) == 0 || now.Sub(l[0].At) <= Window {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(one Loss) bool { return now.Sub(one.At) > Window })
}

// Apart reports whether the item may share no worker with another such item: one of them may kill
// its workers, and the others must not fail with it.
func (l List) Apart() bool { return len(l) >= apartAfter }

// Workers lists the workers, one for each loss.
func (l List) Workers() []string {
	return lists.Map(l, func(one Loss) string { return one.Worker })
}
