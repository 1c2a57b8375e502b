package steps

import "slices"

// bring copies and mounts the shards of one target after the other, from source.
func (e *Encode) bring(source string, seen View) (Step, *End) {
	for _, target := range e.Targets {
		if e.mounted(target, seen) {
			continue
		}
		if target.Server != source && !e.copied[try{EcCopy, target.Server, target.Disk}] {
			if step, ok := e.once(Call{Op: EcCopy, Server: target.Server, Source: source, Shards: missing(target, seen), Disk: target.Disk, IOLimit: e.IOLimit}); ok {
				return step, nil
			}
			return Step{}, failed(CallFailed).at(target.Server, e.lastFail.Err)
		}
		if step, ok := e.once(Call{Op: EcMount, Server: target.Server, Disk: target.Disk, Shards: target.Shards}); ok {
			return step, nil
		}
		return Step{}, failed(CallFailed).at(target.Server, e.lastFail.Err)
	}
	return Step{}, nil
}

// spread brings the shards to their targets if one server offers all of them. A server that restarts mounts
// what was generated there, and does not load the replica next to it.
func (e *Encode) spread(made uint64, seen View) (Step, *End) {
	if made == 0 || e.placed(seen) {
		return Step{}, nil
	}
	for _, server := range e.shardServers() {
		if len(seen.Shards[server].Sizes) != TotalShards {
			continue
		}
		if slices.Contains(e.Replicas, server) && seen.Replicas[server].Presence == Absent {
			e.Hidden = server
		}
		return e.bring(server, seen)
	}
	return Step{}, nil
}

// heldAll reports whether shards of a volume of made bytes have the objects of every replica.
func (e *Encode) heldAll(replicas []string, made uint64, seen View) bool {
	for _, server := range replicas {
		if !e.held(server, made, seen) {
			return false
		}
	}
	return true
}
