package fakecluster

import (
	"maps"
	"slices"
)

// BeginCopy starts a copy whose caller disconnects. A real server continues it: its note is next to the files until
// the end of the copy, see [Cluster.EndCopies].
func (c *Cluster) BeginCopy(address, source string, id uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target, err := c.server(address)
	if err != nil {
		return err
	}
	if _, err := c.volume(source, id); err != nil {
		return err
	}
	target.arriving[id] = append(target.arriving[id], source)
	return nil
}

// RemoveNotes removes the notes of copies that a restart interrupted, as an operator would.
func (c *Cluster) RemoveNotes(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.servers[address].interrupted)
}

// Arriving reports whether address has the note of a copy of a volume.
func (c *Cluster) Arriving(address string, id uint32) bool {
	return c.note(address, id) != ""
}

func (c *Cluster) note(address string, id uint32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	source := c.servers[address].interrupted[id]
	if under := c.servers[address].arriving[id]; len(under) > 0 {
		source = under[len(under)-1]
	}
	if source == "" {
		return ""
	}
	return "copying from " + source
}

// LoseFiles removes the files of a volume that its server holds open, as happens when the caller of a copy has
// disconnected before its end.
func (c *Cluster) LoseFiles(address string, id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.servers[address]; s != nil && s.volumes[id] != nil {
		s.volumes[id].ghost = true
	}
}

// EndCopies ends every copy in progress and returns the targets. There is no caller for the answer, so the server
// removes the files. A copy whose source has lost the volume fails, and removes the files of every copy there.
func (c *Cluster) EndCopies() (arrived []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		target := c.servers[address]
		for id, sources := range target.arriving {
			for _, source := range sources {
				if from := c.servers[source]; from == nil || from.down || from.volumes[id] == nil {
					delete(target.volumes, id)
					continue
				}
				c.copyTo(address, source, id)
				target.volumes[id].ghost = true
				arrived = append(arrived, address)
			}
		}
		clear(target.arriving)
	}
	return arrived
}
