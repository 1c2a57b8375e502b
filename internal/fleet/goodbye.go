package fleet

import (
	"slices"
	"time"
)

// A worker that is stopped while it registers says goodbye to a registry that may
// not have heard its hello yet: the hello waits at the server as long as no control
// plane runs. A goodbye therefore counts for what comes after it too.
const (
	// goodbyeCounts is for how long, from when the registry hears it. A hello that is
	// on its way comes with the same workflow task, or soon after.
	goodbyeCounts = 10 * time.Minute
	// maxGoodbyes is how many are remembered, as many as there can be workers.
	maxGoodbyes = 1000
)

// goodbye is one that was said.
type goodbye struct {
	Identity
	At time.Time `json:"at"`
}

// remember notes a goodbye, and forgets those that do not count any more.
func (r *Registry) remember(who Identity, now time.Time) {
	r.goodbyes = slices.DeleteFunc(r.goodbyes, func(g goodbye) bool { return g.Identity == who || !g.counts(now) })
	r.goodbyes = append(r.goodbyes, goodbye{Identity: who, At: now})
	if surplus := len(r.goodbyes) - maxGoodbyes; surplus > 0 {
		r.goodbyes = slices.Delete(r.goodbyes, 0, surplus)
	}
}

// saidGoodbye reports whether the incarnation has, so that its hello is late.
func (r *Registry) saidGoodbye(who Identity, now time.Time) bool {
	return slices.ContainsFunc(r.goodbyes, func(g goodbye) bool { return g.Identity == who && g.counts(now) })
}

func (g goodbye) counts(now time.Time) bool { return now.Sub(g.At) < goodbyeCounts }
