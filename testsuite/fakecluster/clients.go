package fakecluster

import (
	"cmp"
	"maps"
	"slices"
)

// Write stores an object in a volume like a client: on all servers with the volume, if there are enough and all accept
// it. A volume with one copy is not replicated: if several servers have it, one that accepts writes gets the object,
// and the others never do. Write reports whether the client got a success.
func (c *Cluster) Write(id uint32, key, size uint64) bool {
	return c.append(id, entry{key: key, size: size})
}

// Erase deletes an object like a client.
func (c *Cluster) Erase(id uint32, key uint64) bool {
	return c.append(id, entry{key: key, deleted: true})
}

// EraseInShards counts one object of encoded volumes as deleted.
func (c *Cluster) EraseInShards(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	erased := map[*generation]bool{}
	for _, s := range c.servers {
		if e := s.shards[id]; e != nil && !erased[e.index] {
			erased[e.index] = true
			e.index.files--
			e.index.deleted++
		}
	}
}

// LoseVif makes the .vif file of a server that of its replica, as a kill at the end of an encoding leaves it.
func (c *Cluster) LoseVif(address string, id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[address].vifs[id] = vif{readOnly: true}
}

func (c *Cluster) append(id uint32, made entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	made.at = c.tick()
	var replicas []*volume
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		if v := c.servers[address].volumes[id]; v != nil && !v.ghost && !c.servers[address].down {
			replicas = append(replicas, v)
		}
	}
	if len(replicas) == 0 || len(replicas) < copiesOf(replicas[0].placement) {
		return false
	}
	if copiesOf(replicas[0].placement) == 1 {
		replicas = slices.DeleteFunc(replicas, func(v *volume) bool { return v.readOnly })
		if len(replicas) == 0 {
			return false
		}
		one := int(made.key % uint64(len(replicas))) //nolint:gosec // few
		replicas = replicas[one : one+1]
	}
	for _, v := range replicas {
		if v.readOnly {
			return false
		}
	}
	first := int(made.key % uint64(len(replicas))) //nolint:gosec // few
	for i, v := range replicas {
		v.log = append(v.log, passedOn(made, i != first))
		v.modified = int64(made.at) //nolint:gosec // a counter
	}
	return true
}

// passedOn returns an entry as written by a server that got the object from another server: without the content type.
func passedOn(e entry, passed bool) entry {
	if passed && e.size > contentType {
		e.size -= contentType
	}
	return e
}

const contentType = uint64(len("application/octet-stream"))

// copiesOf returns the number of replicas of a placement xyz: 1 + x + y + z.
func copiesOf(placement uint32) int {
	return int(1 + placement/100 + placement/10%10 + placement%10) //nolint:gosec // three digits
}

// Readable reports whether an object can be read from the data on all servers, including those that are down: from a
// replica, or from ten shards of one generation.
func (c *Cluster) Readable(id uint32, key uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	shards := map[*generation]map[uint32]bool{}
	for _, s := range c.servers {
		if v := s.volumes[id]; v != nil && !v.ghost {
			if _, ok := v.live()[key]; ok {
				return true
			}
		}
		if e := s.shards[id]; e != nil {
			for shard := range e.mounted {
				made := e.files[shard]
				if shards[made] == nil {
					shards[made] = map[uint32]bool{}
				}
				shards[made][shard] = true
			}
		}
	}
	for made, ids := range shards {
		if _, ok := made.live[key]; ok && len(ids) >= 10 {
			return true
		}
	}
	return false
}

// Replicas lists the servers with a volume on their disks, and those of them that refuse writes.
func (c *Cluster) Replicas(id uint32) (holders, readOnly []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		if v := c.servers[address].volumes[id]; v != nil && !v.ghost {
			holders = append(holders, address)
			if v.readOnly {
				readOnly = append(readOnly, address)
			}
		}
	}
	return holders, readOnly
}

// ShardHolders lists the mounted shards of a volume by server.
func (c *Cluster) ShardHolders(id uint32) map[string][]uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	holders := map[string][]uint32{}
	for address, s := range c.servers {
		if e := s.shards[id]; e != nil && len(e.mounted) > 0 {
			holders[address] = e.shardIDs()
		}
	}
	return holders
}

// ShardFiles lists the shards of a volume on the disks of each server, mounted or not.
func (c *Cluster) ShardFiles(id uint32) map[string][]uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := map[string][]uint32{}
	for address, s := range c.servers {
		if e := s.shards[id]; e != nil && len(e.files) > 0 {
			files[address] = slices.Sorted(maps.Keys(e.files))
		}
	}
	return files
}

// Compacted lists the servers with files of an uncommitted compaction.
func (c *Cluster) Compacted(id uint32) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var servers []string
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		if v := c.servers[address].volumes[id]; v != nil && v.compacted != nil {
			servers = append(servers, address)
		}
	}
	return servers
}

// FixReplication is an operator's volume.fix.replication. With a surplus copy it deletes the least often compacted one,
// among these the oldest, among these the smallest. With a missing copy it copies the latest. Servers that are down do
// not count.
func (c *Cluster) FixReplication(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var holders, others []string
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		switch s := c.servers[address]; {
		case s.down:
		case len(s.arriving[id]) > 0, s.volumes[id] != nil && s.volumes[id].ghost:
		case s.volumes[id] != nil:
			holders = append(holders, address)
		default:
			others = append(others, address)
		}
	}
	if len(holders) == 0 {
		return
	}
	slices.SortStableFunc(holders, func(a, b string) int {
		one, other := c.servers[a].volumes[id], c.servers[b].volumes[id]
		return cmp.Or(cmp.Compare(one.revision, other.revision), cmp.Compare(one.modified, other.modified), cmp.Compare(one.dat(), other.dat()))
	})
	best := c.servers[holders[len(holders)-1]].volumes[id]
	switch want := copiesOf(best.placement); {
	case len(holders) > want:
		delete(c.servers[holders[0]].volumes, id)
	case len(holders) < want && len(others) > 0:
		c.copyTo(others[0], holders[len(holders)-1], id)
	}
}

// CheckDisk is an operator's volume.check.disk: every readable replica gets the objects that only others have.
func (c *Cluster) CheckDisk(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var replicas []*volume
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		if v := c.servers[address].volumes[id]; v != nil && !v.ghost && !c.servers[address].down {
			replicas = append(replicas, v)
		}
	}
	for _, from := range replicas {
		live := from.live()
		for _, into := range replicas {
			have := into.live()
			for _, key := range slices.Sorted(maps.Keys(live)) {
				if _, ok := have[key]; !ok {
					into.log = append(into.log, entry{key: key, size: live[key], at: c.tick()})
				}
			}
		}
	}
}
