package dispatch

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of the checkpoints that travel from group to group.
const (
	// MaxKept is how many there are at most, MaxKeptBytes how large they and their
	// keys are together: the run record they travel in has 64 KiB.
	MaxKept      = 50
	MaxKeptBytes = 32 << 10
	// MaxKeptAge is how long one waits for its job to be found again: after a
	// month it says nothing about the object any more.
	MaxKeptAge = 30 * 24 * time.Hour
	// maxDroppedKeys bounds how many of the dropped ones are named.
	maxDroppedKeys = 10
)

// Kept is the checkpoint of a job that a group did not bring to an end.
type Kept struct {
	Key        string          `json:"key"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	// Done is how much of the job it stands for, in percent; 0: nobody knows.
	Done float64 `json:"done,omitempty"`
	// At is when the job was stopped.
	At time.Time `json:"at"`
}

func (k Kept) size() int { return len(k.Key) + len(k.Checkpoint) }

// Dropped says which checkpoints could not be kept: how many, and the first
// keys; jobs without a key are only counted.
type Dropped struct {
	Count int      `json:"count,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

// inherit takes over what earlier groups left.
func (g *Group) inherit(left []Kept, now time.Time) {
	for _, k := range left {
		if now.Sub(k.At) > MaxKeptAge {
			g.dropped.add(k.Key)
			continue
		}
		g.kept = append(g.kept, k)
	}
}

// takeUp gives the jobs the checkpoints that earlier groups left for them.
func (g *Group) takeUp() {
	if len(g.kept) == 0 {
		return
	}
	for _, j := range g.jobs {
		if at := g.keptAt(j.keepKey()); at >= 0 {
			j.Checkpoint, j.Done = g.kept[at].Checkpoint, g.kept[at].Done
		}
	}
}

// keepKey names what the job's checkpoint is about: its dedupe key, or, for a
// batch, exactly these items. Empty: nobody could find it again.
func (j *job) keepKey() string {
	keys := j.keys()
	switch {
	case len(keys) == 0 || len(j.Items) > 0 && len(keys) < len(j.Items):
		return ""
	case len(keys) == 1:
		return keys[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return fmt.Sprintf("batch of %d, %x", len(keys), sum[:12])
}

func (g *Group) keptAt(key string) int {
	if key == "" {
		return -1
	}
	return slices.IndexFunc(g.kept, func(k Kept) bool { return k.Key == key })
}

// keepOrForget is called when a job has ended: what it did is over, or, if the
// end of the window or of the group's time stopped it, is gone on with.
func (g *Group) keepOrForget(j *job, now time.Time) {
	key := j.keepKey()
	unspent, at := g.keptAt(key), now
	if unspent >= 0 {
		if len(j.Checkpoint) > 0 && j.Attempt == 0 {
			at = g.kept[unspent].At // It was not touched.
		}
		g.kept = slices.Delete(g.kept, unspent, unspent+1)
	}
	if len(j.Checkpoint) == 0 || g.cfg.Window == nil && unspent < 0 || !goesOn(j) {
		return
	}
	if key == "" {
		g.dropped.add("")
		return
	}
	g.kept = append(g.kept, Kept{Key: key, Checkpoint: j.Checkpoint, Done: j.Done, At: at})
	total := 0
	for _, k := range g.kept {
		total += k.size()
	}
	for len(g.kept) > MaxKept || total > MaxKeptBytes {
		total -= g.kept[0].size()
		g.dropped.add(g.kept[0].Key)
		g.kept = slices.Delete(g.kept, 0, 1)
	}
}

// goesOn reports whether another group's job is to go on with this one's work:
// only the group's end kept it from being done. One that failed for good begins
// anew: its checkpoint may be the reason.
func goesOn(j *job) bool {
	switch j.State {
	case StateNotStarted:
		return true
	case StateCanceled, StateFailed, StateStale:
		return j.Stopped
	case StateCompleted, StateExpired, StatePending, StateRunning, StateRecalling, StateHeld:
	}
	return false
}

func (d *Dropped) add(key string) {
	d.Count++
	if key != "" && len(d.Keys) < maxDroppedKeys {
		d.Keys = append(d.Keys, key)
	}
}

// Kept lists the checkpoints for later groups, oldest first.
func (g *Group) Kept() []Kept { return g.kept }

// Dropped says which checkpoints could not be kept.
func (g *Group) Dropped() Dropped { return g.dropped }
