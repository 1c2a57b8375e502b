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
			return Step{}, e.failedCall(target.Server)
		}
		if step, ok := e.once(Call{Op: EcMount, Server: target.Server, Disk: target.Disk, Shards: target.Shards}); ok {
			return step, nil
		}
		return Step{}, e.failedCall(target.Server)
	}
	return Step{}, nil
}

// A restarted server mounts its generated shards and does not load the replica next to them.
func (e *Encode) spread(seen View) (Step, *End) {
	if e.placed(seen) {
		return Step{}, nil
	}
	for _, server := range e.shardServers() {
		if len(seen.Shards[server].Sizes) != TotalShards {
			continue
		}
		if !e.likeThose(server, seen) {
			return Step{}, nil
		}
		return e.bring(server, seen)
	}
	return Step{}, nil
}

func (e *Encode) likeThose(server string, seen View) bool {
	for _, other := range e.shardServers() {
		if shards := seen.Shards[other]; len(shards.Sizes) > 0 && !shards.sameRun(seen.Shards[server]) {
			return false
		}
	}
	return true
}

// compareHidden compares the loaded replicas with the hidden one, the origin of the shards. Its index, or the index
// of the shards if it was deleted, decides. A server killed during the generation has no size of the volume (made is
// 0), and its shards are removed. The index of the shards has each object once, so a replica that has grown since may
// have other contents under the same keys.
func (e *Encode) compareHidden(replicas []string, made uint64, seen View) (Step, bool) {
	e.unread = nil
	hidden := e.hides(seen)
	if hidden == "" || e.heldAll(replicas, made, seen) {
		return Step{}, false
	}
	if !looked(append([]string{hidden}, replicas...), seen) {
		e.comparing, e.hiding = slices.Clone(replicas), []string{hidden}
		return Step{Again: true}, true
	}
	e.comparing, e.hiding = nil, nil
	index, agreed := seen.Indexes[hidden], map[string]Sizes{hidden: {Dat: made}}
	for _, server := range append([]string{hidden}, replicas...) {
		if seen.Indexes[server].Presence == Unknown {
			e.unread = failed(CannotRead).at(server, seen.Indexes[server].Why)
			return Step{}, false
		}
	}
	for _, server := range replicas {
		other := seen.Indexes[server]
		if index.Presence != Present || index.OfShards && (made == 0 || seen.Replicas[server].Dat > made) || other.Presence != Present || other.Live != index.Live || other.Digest != index.Digest {
			return Step{}, false
		}
		agreed[server] = seen.Replicas[server].sizes()
	}
	e.Agreed, e.Hidden = agreed, hidden
	return Step{}, false
}

// watch remembers servers with shards and without a loaded replica.
func (e *Encode) watch(seen View) {
	for _, server := range e.shardServers() {
		if len(seen.Shards[server].Sizes) > 0 && seen.Replicas[server].Presence != Present {
			e.NextTo = union(e.NextTo, []string{server})
		}
	}
}

// Once a server has no shards, its restart loads the replica again, with its mark.
func (e *Encode) nameHidden(step Step, seen View) Step {
	var servers []string
	for _, server := range e.NextTo {
		if seen.Replicas[server].Presence != Present && seen.Shards[server].Presence != Unknown {
			servers = append(servers, server)
		}
	}
	if !looked(servers, seen) {
		e.hiding = servers
		return Step{Again: true}
	}
	e.hiding = nil
	kind := LeftHidden
	if step.End.Code == Encoded {
		kind = LeftFiles
	}
	for _, server := range servers {
		if index := seen.Indexes[server]; seen.Replicas[server].Presence == Absent && index.Presence == Present && !index.OfShards {
			step.End.leaves(kind, server)
		}
	}
	return step
}

func looked(servers []string, seen View) bool {
	return !slices.ContainsFunc(servers, func(server string) bool { _, ok := seen.Indexes[server]; return !ok })
}

func (e *Encode) hides(seen View) string {
	for _, server := range e.shardServers() {
		if len(seen.Shards[server].Sizes) == TotalShards && seen.Replicas[server].Presence != Present {
			return server
		}
	}
	return ""
}

func (e *Encode) heldAll(replicas []string, made uint64, seen View) bool {
	for _, server := range replicas {
		if !e.held(server, made, seen) {
			return false
		}
	}
	return true
}
