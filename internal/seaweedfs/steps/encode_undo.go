package steps

import "slices"

// Stop undoes the changes as far as possible. An encoding that deletes replicas continues to its end.
func (e *Encode) Stop(cause string) {
	if e.failure == nil {
		e.failure = failed(Stopped).at("", cause)
	}
}

func (e *Encode) giveUp(end *End, replicas []string, seen View) Step {
	if e.failure == nil {
		e.failure = end
	}
	return e.tearDown(replicas, seen)
}

// Remaining shards keep the replicas read-only, because shards lack later writes.
func (e *Encode) tearDown(replicas []string, seen View) Step {
	if e.Finish {
		return e.markBack(e.failure, seen)
	}
	if step, ok := e.purge(replicas, seen); ok {
		return step
	}
	if sizes, _ := e.union(seen); len(sizes) > 0 || e.unpurged(seen) != "" {
		return ended(e.leave(e.failure, seen))
	}
	return e.markBack(e.failure, seen)
}

func (e *Encode) markBack(end *End, seen View) Step {
	for _, server := range e.Replicas {
		if replica := seen.Replicas[server]; replica.Presence != Present || !replica.ReadOnly || !slices.Contains(e.Marked, server) {
			continue
		}
		if step, ok := e.once(Call{Op: MarkWritable, Server: server}); ok {
			return step
		}
	}
	return ended(e.leave(end, seen))
}

func (e *Encode) readable(seen View) bool {
	for _, server := range e.Replicas {
		if seen.Replicas[server].Presence == Unknown {
			return false
		}
	}
	sizes, _ := e.union(seen)
	return len(sizes) == 0
}

// S4: a shard is removed only while a replica holds the content of the shards.
func (e *Encode) purge(replicas []string, seen View) (Step, bool) {
	if !e.covered(replicas, seen) {
		return Step{}, false
	}
	for _, server := range e.shardServers() {
		if len(seen.Shards[server].Sizes) == 0 {
			continue
		}
		if step, ok := e.once(Call{Op: EcUnmount, Server: server, Shards: allShards()}); ok {
			return step, true
		}
	}
	if server := e.unpurged(seen); server != "" {
		return e.once(Call{Op: EcDelete, Server: server, Shards: allShards()})
	}
	return Step{}, false
}

// Looks do not show unmounted files, so only a delete removes the doubt.
func (e *Encode) unpurged(seen View) string {
	if sizes, _ := e.union(seen); e.Best == "" && !e.earlier && len(sizes) == 0 && !e.unmounted() {
		return ""
	}
	for _, server := range e.shardServers() {
		if !e.purged[server] {
			return server
		}
	}
	return ""
}

func (e *Encode) unmounted() bool {
	return slices.ContainsFunc(e.shardServers(), func(server string) bool { return e.tried(EcUnmount, server) > 0 })
}

// A volume without compaction only grows, so the recorded size decides about this job's own shards. Other shards need
// exactly the replica's size and no deletions, or a hidden replica with the same objects. A .vif file overwritten by
// a later mark has no size.
func (e *Encode) covered(replicas []string, seen View) bool {
	for _, server := range replicas {
		dat, all := seen.Replicas[server].Dat, true
		for _, holder := range e.shardServers() {
			shards := seen.Shards[holder]
			if len(shards.Sizes) == 0 {
				continue
			}
			own := e.Dat > 0 && dat >= e.Dat && (shards.Made == e.Dat || shards.Made == 0 && shards.fit(e.Dat))
			unfinished := holder == e.Hidden && shards.Made == 0 && shards.Deleted == 0 && e.agreed(server, seen)
			all = all && (own || unfinished || shards.Made == dat && shards.Deleted == 0)
		}
		if all {
			return true
		}
	}
	return false
}

func allShards() []uint32 {
	ids := make([]uint32, TotalShards)
	for i := range ids {
		ids[i] = uint32(i) //nolint:gosec // fourteen
	}
	return ids
}

func (e *Encode) leave(end *End, seen View) *End {
	replicas := false
	end.Left = nil
	for _, server := range e.Replicas {
		switch replica := seen.Replicas[server]; {
		case replica.Presence == Present:
			replicas = true
			if replica.ReadOnly {
				end.leaves(LeftReadOnly, server)
			}
		case replica.Presence == Unknown:
			replicas = true
			if e.earlier || slices.Contains(e.Marked, server) {
				end.leaves(LeftReadOnly, server)
			}
		}
	}
	for _, server := range e.shardServers() {
		if e.mayHold(server, replicas, seen) {
			end.leaves(LeftShards, server)
		}
	}
	return end
}

func (e *Encode) mayHold(server string, replicas bool, seen View) bool {
	made := e.Best != "" || e.earlier
	switch {
	case e.Finish:
		return false
	case replicas && len(seen.Shards[server].Sizes) > 0:
		return true
	case e.purged[server] || !made:
		return false
	case replicas:
		return e.earlier || server == e.Best || seen.Shards[server].Presence == Unknown || e.triedCopy(server)
	}
	return slices.Contains(e.Replicas, server) && (e.earlier || server == e.Best)
}

func (e *Encode) triedCopy(server string) bool {
	return slices.ContainsFunc(e.Targets, func(target Placement) bool { return e.tries[try{EcCopy, server, target.Disk}] > 0 })
}
