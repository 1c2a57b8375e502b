package group

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/run"
)

// Bounds of the checkpoints that travel from group to group.
const (
	// MaxCarried is how many there are at most, MaxCarriedBytes how large they and
	// their keys are together: the run record they travel in has 64 KiB.
	MaxCarried      = 50
	MaxCarriedBytes = 32 << 10
	// MaxCarriedAge is how long one waits for its job to be found again: after a month
	// it says nothing about the object any more.
	MaxCarriedAge = 30 * 24 * time.Hour
	// maxDroppedKeys bounds how many of the dropped ones are named.
	maxDroppedKeys = 10
)

// Carried is the checkpoint of a job that a group did not bring to an end.
type Carried struct {
	Key        string          `json:"key"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	// Done is how much of the job it stands for, in percent; 0: unknown.
	Done float64 `json:"done,omitempty"`
	// At is when the job was stopped.
	At time.Time `json:"at"`
}

func (c Carried) size() int { return len(c.Key) + len(c.Checkpoint) }

// Dropped says which checkpoints could not be carried over: how many, and the first
// keys; jobs without a key are only counted.
type Dropped struct {
	Count int      `json:"count,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

// carried are the checkpoints for later groups, oldest first.
type carried struct {
	List    []Carried `json:"list,omitempty"`
	Dropped Dropped   `json:"dropped,omitzero"`
}

// inherit takes over what earlier groups left.
func (c *carried) inherit(left []Carried, now time.Time) {
	for _, one := range left {
		if now.Sub(one.At) > MaxCarriedAge {
			c.Dropped.add(one.Key)
			continue
		}
		c.List = append(c.List, one)
	}
}

func (c *carried) find(key string) int {
	if key == "" {
		return -1
	}
	return slices.IndexFunc(c.List, func(one Carried) bool { return one.Key == key })
}

// resumeFrom gives a job the checkpoint that an earlier group left for it.
func (g *Group) resumeFrom(j *job) {
	if at := g.carried.find(j.carryKey()); at >= 0 {
		j.Checkpoint, j.Done = g.carried.List[at].Checkpoint, g.carried.List[at].Done
	}
}

// carryKey names what the job's checkpoint is about: its dedupe key, or, for a
// batch, exactly these items. Empty: no later group could find it again.
func (j *job) carryKey() string {
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

// carryOver is called when a job has ended: what it did is over, or, if the end of
// the window or of the group's time stopped it, a later group continues it.
func (g *Group) carryOver(j *job, r *run.Report, now time.Time) {
	c, key := &g.carried, j.carryKey()
	unspent, at := c.find(key), now
	if unspent >= 0 {
		if len(j.Checkpoint) > 0 && j.Attempt == 0 {
			at = c.List[unspent].At // It was not touched.
		}
		c.List = slices.Delete(c.List, unspent, unspent+1)
	}
	if len(j.Checkpoint) == 0 || !g.cfg.Windows && unspent < 0 || g.stopping == stopLost || !continues(r) {
		return
	}
	if key == "" {
		c.Dropped.add("")
		return
	}
	c.List = append(c.List, Carried{Key: key, Checkpoint: j.Checkpoint, Done: j.Done, At: at})
	total := 0
	for _, one := range c.List {
		total += one.size()
	}
	for len(c.List) > MaxCarried || total > MaxCarriedBytes {
		total -= c.List[0].size()
		c.Dropped.add(c.List[0].Key)
		c.List = slices.Delete(c.List, 0, 1)
	}
}

// continues reports whether another group's job is to continue with this one's work:
// only the group's end kept it from being done. One that failed for good begins
// again: its checkpoint may be the reason.
func continues(r *run.Report) bool {
	switch r.State {
	case run.NotStarted:
		return true
	case run.Canceled, run.Failed, run.Stale:
		return r.Cut
	case run.Completed, run.Expired, run.Open:
	}
	return false
}

func (d *Dropped) add(key string) {
	d.Count++
	if key != "" && len(d.Keys) < maxDroppedKeys {
		d.Keys = append(d.Keys, key)
	}
}

// Carried lists the checkpoints for later groups, oldest first.
func (g *Group) Carried() []Carried { return g.carried.List }

// Dropped says which checkpoints could not be carried over.
func (g *Group) Dropped() Dropped { return g.carried.Dropped }
