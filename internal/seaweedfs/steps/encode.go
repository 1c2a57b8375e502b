package steps

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Counts of Reed-Solomon 10+4: any ten of the fourteen shards hold the volume.
const (
	TotalShards = 14
	DataShards  = 10
)

// Placement is the shards for one disk of a server.
type Placement struct {
	Server string   `json:"server"`
	Disk   uint32   `json:"disk,omitempty"`
	Shards []uint32 `json:"shards"`
}

// Encode turns a volume into shards on several servers:
//
//	mark all replicas read-only → generate on one of them → copy and mount on each
//	target → see all shards → delete the replicas → delete the surplus shards
//
// Before the first deletion of a replica, a failure removes the shards and makes the replicas writable again.
// Afterwards the job only continues.
type Encode struct {
	Volume     uint32      `json:"volume"`
	Collection string      `json:"collection,omitempty"`
	Replicas   []string    `json:"replicas"`
	Targets    []Placement `json:"targets"`
	// Holders are other servers with shards, from the topology.
	Holders []string `json:"holders,omitempty"`
	IOLimit int64    `json:"io_limit,omitempty"`
	// Finish: all shards were there before, so no shard is generated or removed.
	Finish bool `json:"finish,omitempty"`

	encodeProgress

	// The rest belongs to one attempt.
	attempt
	generated bool
	copied    map[try]bool
	purged    map[string]bool
	// Indexes to read next, also hidden ones. unread is a failure to read one.
	comparing []string
	hiding    []string
	unread    *End
}

// encodeProgress is the part of an encoding that the next attempt continues.
type encodeProgress struct {
	// Marked are the replicas that were writable before this job.
	Marked []string `json:"marked,omitempty"`
	// Server that generates the shards, and the size of its replica then. Once set there may be shards of this job.
	Best string `json:"best,omitempty"`
	Dat  uint64 `json:"dat,omitempty"`
	// Deleting: all shards were seen, so replicas are deleted from now on.
	Deleting bool `json:"deleting,omitempty"`
	// Agreed are the sizes of replicas whose indexes have the same objects.
	Agreed map[string]Sizes `json:"agreed,omitempty"`
	// Hidden is a server whose compared replica is not loaded, because it restarted next to all shards.
	Hidden string `json:"hidden,omitempty"`
	// NextTo are servers that had shards and no loaded replica, and may hide one.
	NextTo []string `json:"next_to,omitempty"`
}

// Looks implements [Job].
func (e *Encode) Looks() []Look {
	var looks []Look
	for _, server := range e.Replicas {
		looks = append(looks, Look{Server: server})
	}
	for _, server := range e.shardServers() {
		looks = append(looks, Look{Server: server, Shards: true})
	}
	for _, server := range e.comparing {
		looks = append(looks, Look{Server: server, Index: true})
	}
	for _, server := range e.hiding {
		if !slices.Contains(e.Replicas, server) {
			looks = append(looks, Look{Server: server})
		}
		looks = append(looks, Look{Server: server, Index: true, Hidden: true, Collection: e.Collection})
	}
	return looks
}

// shardServers are the targets, the replicas (which generate shards) and those of the topology.
func (e *Encode) shardServers() []string {
	servers := slices.Concat(lists.Map(e.Targets, func(target Placement) string { return target.Server }), e.Replicas, e.Holders)
	slices.Sort(servers)
	return slices.Compact(servers)
}

// Decide implements [Job].
func (e *Encode) Decide(seen View) Step {
	e.watch(seen)
	step := e.decide(seen)
	if step.End != nil {
		return e.nameHidden(step, seen)
	}
	return step
}

func (e *Encode) decide(seen View) Step {
	replicas, end := e.present(seen)
	switch {
	case end != nil && e.Best == "" && e.readable(seen):
		return e.markBack(end, seen)
	case end != nil:
		return ended(e.leave(end, seen))
	case len(replicas) == 0:
		return e.encoded(seen)
	case e.Deleting:
		return e.deleteReplica(replicas, seen)
	case e.Finish && e.failure == nil && !e.complete(replicas, seen):
		return e.markBack(done(Stale), seen)
	case e.failure != nil:
		return e.tearDown(replicas, seen)
	}
	if step, ok := e.makeReadOnly(replicas, seen); ok {
		return step
	}
	if step, ok := e.agree(replicas, seen); !ok {
		return step
	}
	if e.generated {
		return e.place(replicas, seen)
	}
	return e.generate(replicas, seen)
}

func (e *Encode) makeReadOnly(replicas []string, seen View) (Step, bool) {
	for _, server := range replicas {
		if seen.Replicas[server].ReadOnly {
			continue
		}
		if e.generated {
			// It was writable after the shards were made, so they may lack an object.
			e.generated = false
			return e.giveUp(failed(ReplicaWritable).at(server, ""), replicas, seen), true
		}
		if step, ok := e.once(Call{Op: MarkReadOnly, Server: server, Persist: true}); ok {
			if !slices.Contains(e.Marked, server) {
				e.Marked = append(e.Marked, server)
			}
			return calmly(step), true
		}
		return e.giveUp(e.failedCall(server), replicas, seen), true
	}
	return Step{}, false
}

// generate makes the shards after it removed those of an earlier attempt.
func (e *Encode) generate(replicas []string, seen View) Step {
	sizes, made := e.union(seen)
	if step, ok := e.compareHidden(replicas, made, seen); ok {
		return step
	}
	if e.heldAll(replicas, made, seen) {
		// An earlier attempt made them from exactly these replicas.
		step, end := e.spread(seen)
		switch {
		case end != nil:
			return e.giveUp(end, replicas, seen)
		case step.Call != nil:
			return step
		case e.placed(seen):
			e.Best, e.Dat, e.Deleting = cmp.Or(e.origin(replicas, made, seen), e.Best, replicas[0]), made, true
			return e.deleteReplica(replicas, seen)
		}
	}
	best := replicas[0]
	if slices.Contains(replicas, e.Best) {
		best = e.Best
	}
	if len(sizes) > 0 || e.earlier || e.unmounted() {
		if step, ok := e.purge(replicas, seen); ok {
			return step
		}
	}
	if len(sizes) > 0 {
		return e.giveUp(cmp.Or(e.unread, failed(ShardsDiffer).final()), replicas, seen)
	}
	if server := e.unpurged(seen); server != "" && e.tried(EcDelete, server) > 0 {
		return e.giveUp(e.failedCall(server), replicas, seen)
	}
	e.Best, e.Dat = best, seen.Replicas[best].Dat
	if step, ok := e.once(Call{Op: EcGenerate, Server: best}); ok {
		return step
	}
	return e.giveUp(e.failedCall(best), replicas, seen)
}

func (e *Encode) place(replicas []string, seen View) Step {
	step, end := e.bring(e.Best, seen)
	switch {
	case end != nil:
		return e.giveUp(end, replicas, seen)
	case step.Call != nil:
		return step
	}
	if _, made := e.union(seen); made != seen.Replicas[e.Best].Dat {
		return e.giveUp(failed(ShardsMissing).at(e.Best, ""), replicas, seen)
	}
	e.Deleting = true
	return e.deleteReplica(replicas, seen)
}

// S2: all shards are there now, made from a volume with the objects of this replica, which takes no writes.
func (e *Encode) deleteReplica(replicas []string, seen View) Step {
	_, made := e.union(seen)
	server := replicas[0]
	replica := seen.Replicas[server]
	switch {
	case !e.placed(seen):
		return ended(e.leave(failed(ShardsMissing).at(server, ""), seen))
	case !replica.ReadOnly:
		return ended(e.leave(failed(ReplicaWritable).at(server, "").final(), seen))
	case !e.held(server, made, seen):
		return ended(e.leave(failed(ShardsDiffer).at(server, "").final(), seen))
	}
	if step, ok := e.once(Call{Op: Delete, Server: server}); ok {
		return step
	}
	return ended(e.leave(e.failedCall(server), seen))
}

// encoded is the end: only shards are left.
func (e *Encode) encoded(seen View) Step {
	sizes, _ := e.union(seen)
	switch {
	case len(sizes) == 0:
		return ended(failed(VolumeGone).final())
	case len(sizes) < TotalShards:
		return ended(failed(ShardsMissing))
	}
	if step, end := e.spread(seen); end != nil {
		return ended(e.leave(end, seen))
	} else if step.Call != nil {
		return step
	}
	for _, server := range e.shardServers() {
		if step, ok := e.tidy(server, seen); ok {
			return step
		}
	}
	return ended(done(Encoded))
}

// Mounted shards stay until all are on their targets.
func (e *Encode) tidy(server string, seen View) (Step, bool) {
	var mounted, surplus []uint32
	placed := e.placed(seen)
	for id := range uint32(TotalShards) {
		switch has := seen.Shards[server].has(id); {
		case e.belongs(server, id), has && !placed:
		case has:
			mounted = append(mounted, id)
			surplus = append(surplus, id)
		default:
			surplus = append(surplus, id)
		}
	}
	unmounted := e.tried(EcUnmount, server) > 0 || slices.Contains(e.Replicas, server)
	next := Call{Op: EcDelete, Server: server, Shards: surplus}
	switch {
	case len(mounted) > 0:
		next = Call{Op: EcUnmount, Server: server, Shards: mounted}
	case e.purged[server] || len(surplus) == 0 || !unmounted:
		return Step{}, false
	}
	if step, ok := e.once(next); ok {
		return step, true
	}
	return ended(e.leave(e.failedCall(server), seen)), true
}

// Took implements [Job].
func (e *Encode) Took(c Call, answer Answer) {
	if !e.took(c, answer) {
		return
	}
	switch c.Op {
	case EcGenerate:
		// Earlier purges and attempts concerned other shards.
		e.tries = map[try]int{tryOf(c): e.tries[tryOf(c)]}
		e.copied, e.purged, e.generated = nil, nil, true
	case EcCopy:
		e.copied = with(e.copied, tryOf(c))
	case EcDelete:
		e.purged = with(e.purged, c.Server)
	case Check, Compact, Commit, Cleanup, MarkReadOnly, MarkWritable, Copy, Tail, Delete, EcMount, EcUnmount:
	}
}

// with adds a key to a set that may be nil.
func with[K comparable](set map[K]bool, key K) map[K]bool {
	if set == nil {
		set = map[K]bool{}
	}
	set[key] = true
	return set
}

// once returns the call, unless this attempt has sent it maxTries times.
func (e *Encode) once(c Call) (Step, bool) {
	c.Volume, c.Collection = e.Volume, e.Collection
	return call(c), e.tries[tryOf(c)] < maxTries
}
