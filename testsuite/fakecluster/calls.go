package fakecluster

import (
	"errors"
	"fmt"
)

// Status is what a volume server says of a replica.
type Status struct {
	ReadOnly        bool
	Dat, Idx, Files uint64
	Revision        uint32
	Collection      string
}

// Status reads a replica.
func (c *Cluster) Status(address string, id uint32) (Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return Status{}, err
	}
	return Status{v.readOnly, v.dat(), v.idx(), v.files(), v.revision, v.collection}, nil
}

// Check returns the share of garbage.
func (c *Cluster) Check(address string, id uint32) (float64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return 0, err
	}
	return v.garbage(), nil
}

// Compact writes the volume without its garbage next to it.
func (c *Cluster) Compact(address string, id uint32) error {
	return c.change(address, id, func(v *volume) error {
		v.compacted = append([]entry{}, v.squeezed()...)
		return nil
	})
}

// Commit puts the compacted volume in place.
func (c *Cluster) Commit(address string, id uint32) (readOnly bool, err error) {
	err = c.change(address, id, func(v *volume) error {
		readOnly = v.readOnly
		v.modified = int64(c.tick()) //nolint:gosec // a counter: the file is a new one
		return v.commit()
	})
	return readOnly, err
}

// Cleanup drops a compaction that was not committed.
func (c *Cluster) Cleanup(address string, id uint32) error {
	return c.change(address, id, func(v *volume) error { v.compacted = nil; return nil })
}

// MarkReadOnly refuses writes; persist keeps that over a restart.
func (c *Cluster) MarkReadOnly(address string, id uint32, persist bool) error {
	return c.change(address, id, func(v *volume) error {
		v.readOnly, v.persisted = true, v.persisted || persist
		return nil
	})
}

// MarkWritable takes writes again.
func (c *Cluster) MarkWritable(address string, id uint32) error {
	return c.change(address, id, func(v *volume) error { v.readOnly, v.persisted = false, false; return nil })
}

func (c *Cluster) change(address string, id uint32, do func(*volume) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return err
	}
	return do(v)
}

// Copy brings a volume from source to address, which must not have it.
func (c *Cluster) Copy(address, source string, id uint32) (lastAppend uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.server(address)
	if err != nil {
		return 0, err
	}
	if _, ok := target.volumes[id]; ok {
		return 0, fmt.Errorf("volume %d already exists on %s", id, address)
	}
	if len(target.volumes) >= target.Max {
		return 0, errors.New("no space left")
	}
	from, err := c.volume(source, id)
	if err != nil {
		return 0, err
	}
	target.volumes[id] = from.clone()
	return from.lastAppend(), nil
}

// Tail appends to address what source has since then.
func (c *Cluster) Tail(address, source string, id uint32, since uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.volume(address, id)
	if err != nil {
		return err
	}
	if target.readOnly {
		return fmt.Errorf("volume %d is read only", id)
	}
	from, err := c.volume(source, id)
	if err != nil {
		return err
	}
	target.tail(from, since)
	return nil
}

// Delete removes a replica.
func (c *Cluster) Delete(address string, id uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.volume(address, id); err != nil {
		return err
	}
	delete(c.servers[address].volumes, id)
	return nil
}

const totalShards = 14

// EcGenerate writes all shards of a volume next to it.
func (c *Cluster) EcGenerate(address string, id uint32, collection string) error {
	return c.change(address, id, func(v *volume) error {
		made := &generation{live: v.live(), dat: v.dat()}
		s := c.servers[address]
		e := s.shards[id]
		if e == nil {
			e = newEcVolume(collection)
			s.shards[id] = e
		}
		e.index = true
		for shard := range uint32(totalShards) {
			e.files[shard] = made
		}
		return nil
	})
}

// EcCopy brings files of shards from source to address.
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
	into.index = true
	for _, shard := range shards {
		into.files[shard], into.disk[shard] = from.files[shard], disk
	}
	return nil
}

// EcMount offers shards for reading.
func (c *Cluster) EcMount(address string, id uint32, shards []uint32) error {
	return c.changeShards(address, id, func(e *ecVolume) error {
		for _, shard := range shards {
			if e.files[shard] == nil || !e.index {
				return fmt.Errorf("shard %d of volume %d not found", shard, id)
			}
		}
		for _, shard := range shards {
			e.mounted[shard] = true
		}
		return nil
	})
}

// EcUnmount takes shards out of reading.
func (c *Cluster) EcUnmount(address string, id uint32, shards []uint32) error {
	return c.changeShards(address, id, func(e *ecVolume) error {
		for _, shard := range shards {
			delete(e.mounted, shard)
		}
		return nil
	})
}

// EcDelete removes files of shards; the index goes with the last one. A shard that is not
// there is no error.
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
	}
	return nil
}

func (c *Cluster) changeShards(address string, id uint32, do func(*ecVolume) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return err
	}
	e := s.shards[id]
	if e == nil {
		return fmt.Errorf("ec volume %d not found", id)
	}
	return do(e)
}

// Shard is one mounted shard.
type Shard struct {
	ID   uint32
	Size int64
}

// EcInfo lists the mounted shards of a volume on one server.
func (c *Cluster) EcInfo(address string, id uint32) (shards []Shard, volumeSize uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return nil, 0, err
	}
	e := s.shards[id]
	if e == nil || len(e.mounted) == 0 {
		return nil, 0, fmt.Errorf("ec volume %d not found", id)
	}
	for _, shard := range e.shardIDs() {
		made := e.files[shard]
		shards = append(shards, Shard{shard, int64(made.dat/10 + 1)}) //nolint:gosec // small
		volumeSize = made.dat
	}
	return shards, volumeSize, nil
}
