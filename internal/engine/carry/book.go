package carry

import (
	"encoding/json"
	"slices"
	"time"
)

// Bounds of the checkpoints that travel from group to group.
const (
	// The run record that carries the checkpoints has 64 KiB.
	Max      = 50
	MaxBytes = 32 << 10
	// MaxAge is the longest wait of a checkpoint for its job: after a month it describes an old state of the object.
	MaxAge = 30 * 24 * time.Hour
	// MaxDroppedKeys bounds how many of the dropped ones are named.
	MaxDroppedKeys = 10
)

// Checkpoint is that of a job that a group did not bring to an end.
type Checkpoint struct {
	Key        string          `json:"key"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	// Done is how much of the job it stands for, in percent; 0: unknown.
	Done float64 `json:"done,omitempty"`
	// At is when the job was stopped.
	At time.Time `json:"at"`
}

func (c Checkpoint) size() int { return len(c.Key) + len(c.Checkpoint) }

// Dropped counts the checkpoints that were not carried over, and lists the first keys.
type Dropped struct {
	Count int      `json:"count,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

func (d *Dropped) add(key string) {
	d.Count++
	if key != "" && len(d.Keys) < MaxDroppedKeys {
		d.Keys = append(d.Keys, key)
	}
}

// Book has the checkpoints for later groups, oldest first.
type Book struct {
	List    []Checkpoint `json:"list,omitempty"`
	Dropped Dropped      `json:"dropped,omitzero"`
}

// Inherit adds the checkpoints of earlier groups, except old ones.
func (b *Book) Inherit(left []Checkpoint, now time.Time) {
	for _, one := range left {
		if now.Sub(one.At) > MaxAge {
			b.Dropped.add(one.Key)
			continue
		}
		b.List = append(b.List, one)
	}
}

// Find returns the checkpoint of a key; ok is false if there is none.
func (b *Book) Find(key string) (found Checkpoint, ok bool) {
	if at := b.find(key); at >= 0 {
		return b.List[at], true
	}
	return found, false
}

func (b *Book) find(key string) int {
	if key == "" {
		return -1
	}
	return slices.IndexFunc(b.List, func(one Checkpoint) bool { return one.Key == key })
}

// Remove removes the checkpoint of a key.
func (b *Book) Remove(key string) {
	if at := b.find(key); at >= 0 {
		b.List = slices.Delete(b.List, at, at+1)
	}
}

// Put drops the oldest checkpoints over a bound. One without a key is dropped: no later group could find it.
func (b *Book) Put(one Checkpoint) {
	if one.Key == "" {
		b.Dropped.add("")
		return
	}
	b.List = append(b.List, one)
	total := 0
	for _, kept := range b.List {
		total += kept.size()
	}
	for len(b.List) > Max || total > MaxBytes {
		total -= b.List[0].size()
		b.Dropped.add(b.List[0].Key)
		b.List = slices.Delete(b.List, 0, 1)
	}
}
