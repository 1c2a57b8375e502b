package fakecluster

import "fmt"

const totalShards = 14

// EcGenerate writes all shards of a volume next to it, after unloading and removing older ones. The .vif file becomes
// that of the shards, with the size of the volume and no read-only mark.
func (c *Cluster) EcGenerate(address string, id uint32, collection string) error {
	return c.change(address, id, func(v *volume) error {
		if v.collection != collection {
			return fmt.Errorf("existing collection:%s unexpected input: %s", v.collection, collection)
		}
		s, made := c.servers[address], v.generation()
		e := newEcVolume(collection)
		s.shards[id], e.index = e, made
		for shard := range uint32(totalShards) {
			e.files[shard] = made
		}
		s.vifs[id] = vif{made: made.dat, encoded: int64(c.tick())} //nolint:gosec // a counter
		return nil
	})
}

// EcCopy copies shard files from source to address, with their index and .vif file.
func (c *Cluster) EcCopy(address, source string, id uint32, shards []uint32, disk uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.server(address)
	if err != nil {
		return err
	}
	origin, err := c.server(source)
	if err != nil {
		return err
	}
	from := origin.shards[id]
	for _, shard := range shards {
		if from == nil || from.files[shard] == nil {
			return fmt.Errorf("shard %d of volume %d not found on %s", shard, id, source)
		}
	}
	into := target.shards[id]
	if into == nil {
		into = newEcVolume(from.collection)
		target.shards[id] = into
	}
	into.index, target.vifs[id] = from.index, origin.vifs[id]
	for _, shard := range shards {
		into.files[shard], into.disk[shard] = from.files[shard], disk
	}
	return nil
}

// EcMount mounts shards up to the first missing one.
func (c *Cluster) EcMount(address string, id uint32, shards []uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return err
	}
	e := s.shards[id]
	for _, shard := range shards {
		if e == nil || e.index == nil || e.files[shard] == nil {
			return fmt.Errorf("mount %d.%d: MountEcShards %d.%d not found on disk", id, shard, id, shard)
		}
		e.mounted[shard] = true
	}
	return nil
}

// EcUnmount unmounts shards. A missing shard is no error.
func (c *Cluster) EcUnmount(address string, id uint32, shards []uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return err
	}
	if e := s.shards[id]; e != nil {
		for _, shard := range shards {
			delete(e.mounted, shard)
		}
	}
	return nil
}

// EcDelete removes shard files; the index goes with the last one. A missing shard is no error.
func (c *Cluster) EcDelete(address string, id uint32, shards []uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return err
	}
	e := s.shards[id]
	if e == nil {
		return nil
	}
	for _, shard := range shards {
		delete(e.files, shard)
		delete(e.mounted, shard)
	}
	if len(e.files) == 0 {
		delete(s.shards, id)
		if s.volumes[id] == nil {
			delete(s.vifs, id)
		}
	}
	return nil
}

// Shard is one mounted shard.
type Shard struct {
	ID   uint32
	Size int64
}

// EcInfo describes the mounted shards of a volume on one server. Made and Encoded are from their .vif file.
type EcInfo struct {
	Collection           string
	Shards               []Shard
	Files, Deleted, Sums uint64
	Made                 uint64
	Encoded              int64
}

// EcInfo lists the mounted shards of a volume on one server.
func (c *Cluster) EcInfo(address string, id uint32) (EcInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return EcInfo{}, err
	}
	e := s.shards[id]
	if e == nil || len(e.mounted) == 0 {
		return EcInfo{}, fmt.Errorf("VolumeEcShardsInfo: EC volume %d not found", id)
	}
	info := EcInfo{
		Collection: e.collection, Files: e.index.files, Deleted: e.index.deleted, Sums: e.index.sum,
		Made: s.vifs[id].made, Encoded: s.vifs[id].encoded,
	}
	for _, shard := range e.shardIDs() {
		info.Shards = append(info.Shards, Shard{shard, e.files[shard].shardSize()})
	}
	return info, nil
}
