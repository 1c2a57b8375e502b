package fakecluster

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Status is a volume server's status of a replica.
type Status struct {
	ReadOnly        bool
	Dat, Idx, Files uint64
	Deleted         uint64
	// Ghost means that the server holds the files open and they are gone from its disk.
	Ghost      bool
	Revision   uint32
	Collection string
}

// Status reads a replica.
func (c *Cluster) Status(address string, id uint32) (Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return Status{}, err
	}
	status := Status{
		ReadOnly: v.readOnly, Dat: v.dat(), Idx: v.idx(), Files: v.files(), Deleted: uint64(len(v.log)) - v.files(),
		Revision: v.revision, Collection: v.collection, Ghost: v.ghost,
	}
	if v.sorted {
		status.Files, status.Deleted = uint64(len(v.log)), 2*status.Deleted
	}
	return status, nil
}

// Index sums up the index of a replica.
func (c *Cluster) Index(address string, id uint32) (live uint64, digest [2]uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return 0, digest, err
	}
	live, digest = v.sums()
	return live, digest, nil
}

func (v *volume) sums() (live uint64, digest [2]uint64) {
	writes := v.writes()
	for key, times := range writes {
		digest[0] += key
		digest[1] += key * key * times
	}
	return uint64(len(writes)), digest
}

// HiddenIndex is [Cluster.Index] of a replica that is not loaded.
func (c *Cluster) HiddenIndex(address string, id uint32) (live uint64, digest [2]uint64, err error) {
	c.mu.Lock()
	s, err := c.server(address)
	if err == nil && s.hidden[id] == nil {
		err = fmt.Errorf("no .idx file of volume %d", id)
	}
	c.mu.Unlock()
	if err != nil {
		return 0, digest, err
	}
	live, digest = s.hidden[id].sums()
	return live, digest, nil
}

// IndexHead returns the digest of the first bytes of a replica's index.
func (c *Cluster) IndexHead(address string, id uint32, size uint64) ([32]byte, error) {
	file, err := c.idxFile(address, id, false)
	return sha256.Sum256(file[:min(size, uint64(len(file)))]), err
}

// Size returns the size of an object for clients; 0 if it is gone.
func (c *Cluster) Size(address string, id uint32, key uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if err != nil {
		return 0
	}
	return v.live()[key]
}

// idxFile is the .idx file of a replica; also of one that is not loaded, if the request is for shards.
func (c *Cluster) idxFile(address string, id uint32, shards bool) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.volume(address, id)
	if s := c.servers[address]; err != nil && shards && s != nil && !s.down && s.hidden[id] != nil {
		v, err = s.hidden[id], nil
	}
	if err != nil {
		return nil, err
	}
	var file []byte
	for i, e := range v.log {
		size := uint32(e.size) //nolint:gosec // small
		if e.deleted {
			size = 1<<32 - 1
		}
		file = binary.BigEndian.AppendUint64(file, e.key)
		file = binary.BigEndian.AppendUint32(file, uint32(i+1)) //nolint:gosec // few
		file = binary.BigEndian.AppendUint32(file, size)
	}
	return file, nil
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

// Commit replaces the volume by the compacted one.
func (c *Cluster) Commit(address string, id uint32) (readOnly bool, err error) {
	err = c.change(address, id, func(v *volume) error {
		readOnly = v.readOnly
		v.modified = int64(c.tick()) //nolint:gosec // a counter: the file is a new one
		return v.commit()
	})
	return readOnly, err
}

// Cleanup drops an uncommitted compaction.
func (c *Cluster) Cleanup(address string, id uint32) error {
	return c.change(address, id, func(v *volume) error { v.compacted = nil; return nil })
}

// MarkReadOnly refuses writes. With persist it lasts over a restart, and applies to later copies of the volume.
func (c *Cluster) MarkReadOnly(address string, id uint32, persist bool) error {
	return c.mark(address, id, func(v *volume) error {
		v.readOnly = true
		if persist {
			v.info.readOnly = true
			c.servers[address].vifs[id] = v.info
		}
		return nil
	})
}

// MarkWritable accepts writes again.
func (c *Cluster) MarkWritable(address string, id uint32) error {
	return c.mark(address, id, func(v *volume) error {
		v.readOnly, v.info.readOnly, v.sorted = false, false, false
		c.servers[address].vifs[id] = v.info
		return nil
	})
}

// mark is change with the error texts of a marking call.
func (c *Cluster) mark(address string, id uint32, do func(*volume) error) error {
	err := c.change(address, id, do)
	if err != nil && !errors.Is(err, errDown) {
		return fmt.Errorf("volume %d not found", id)
	}
	return err
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

// Copy copies a volume from source to address. An existing volume is replaced once the source has shown that it has
// the volume. The .vif file is copied with its persisted read-only mark.
func (c *Cluster) Copy(address, source string, id uint32) (lastAppend uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.server(address)
	if err != nil {
		return 0, err
	}
	from, err := c.volume(source, id)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read volume file status failed, %w", err)
	case from.ghost:
		return 0, errors.New("no such file or directory")
	}
	delete(target.volumes, id)
	if len(target.volumes) >= target.Max {
		return 0, errors.New("no space left")
	}
	c.copyTo(address, source, id)
	return from.lastAppend(), nil
}

func (c *Cluster) copyTo(address, source string, id uint32) {
	from, target := c.servers[source], c.servers[address]
	made := from.volumes[id].clone()
	made.info = from.vifs[id]
	made.readOnly, made.sorted = made.info.readOnly, made.info.readOnly
	target.volumes[id], target.vifs[id] = made, made.info
	delete(target.interrupted, id)
}

// Tail appends the entries of source since then to the replica at address.
func (c *Cluster) Tail(address, source string, id uint32, since uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.volume(address, id)
	if err != nil {
		return fmt.Errorf("receiver %w", err)
	}
	from, err := c.volume(source, id)
	if err != nil {
		return err
	}
	if err := target.tail(from, since); err != nil {
		return fmt.Errorf("volume %d %w", id, err)
	}
	return nil
}

// Delete removes a replica. Its .vif file stays if shards on the same server have it too.
func (c *Cluster) Delete(address string, id uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	switch {
	case err != nil:
		return err
	case s.volumes[id] == nil:
		return fmt.Errorf("delete volume %d not found on disk", id)
	}
	delete(s.volumes, id)
	if s.shards[id] == nil {
		delete(s.vifs, id)
	}
	return nil
}
