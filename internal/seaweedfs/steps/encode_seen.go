package steps

import (
	"maps"
	"slices"
)

// present lists the loaded replicas. S1: it fails if a replica, or a server that can have shards, is unknown.
func (e *Encode) present(seen View) ([]string, *End) {
	var replicas []string
	for _, server := range e.Replicas {
		switch replica := seen.Replicas[server]; replica.Presence {
		case Unknown:
			return nil, failed(CannotRead).at(server, replica.Why)
		case Present:
			replicas = append(replicas, server)
		case Absent:
		}
	}
	for _, server := range e.shardServers() {
		if shards := seen.Shards[server]; shards.Presence == Unknown {
			return nil, failed(CannotRead).at(server, shards.Why)
		}
	}
	return replicas, nil
}

// complete reports whether all shards are on their targets, made from one of these replicas.
func (e *Encode) complete(replicas []string, seen View) bool {
	_, made := e.union(seen)
	return e.placed(seen) && e.origin(replicas, made, seen) != ""
}

// A restarted server mounts the shards that it generated, so fourteen shards on one server do not count.
func (e *Encode) placed(seen View) bool {
	for _, target := range e.Targets {
		if !e.mounted(target, seen) {
			return false
		}
	}
	return true
}

func (e *Encode) mounted(target Placement, seen View) bool { return len(missing(target, seen)) == 0 }

func missing(target Placement, seen View) (shards []uint32) {
	for _, shard := range target.Shards {
		if !seen.Shards[target.Server].has(shard) {
			shards = append(shards, shard)
		}
	}
	return shards
}

// made is the size of the volume that all shards come from, 0 if they disagree.
func (e *Encode) union(seen View) (sizes map[uint32]int64, made uint64) {
	sizes = map[uint32]int64{}
	known, agree := e.known(seen), true
	for _, server := range e.shardServers() {
		shards := seen.Shards[server]
		if len(shards.Sizes) == 0 {
			continue
		}
		agree = agree && shards.sameRun(known) && shards.fit(known.Made)
		for _, id := range slices.Sorted(maps.Keys(shards.Sizes)) {
			if shards.has(id) {
				sizes[id] = shards.Sizes[id]
			}
		}
	}
	if !agree {
		return sizes, 0
	}
	return sizes, known.Made
}

func (e *Encode) known(seen View) Shards {
	for _, server := range e.shardServers() {
		if shards := seen.Shards[server]; shards.Made > 0 && len(shards.Sizes) > 0 {
			return shards
		}
	}
	return Shards{}
}

func (e *Encode) belongs(server string, shard uint32) bool {
	return slices.ContainsFunc(e.Targets, func(p Placement) bool { return p.Server == server && slices.Contains(p.Shards, shard) })
}
