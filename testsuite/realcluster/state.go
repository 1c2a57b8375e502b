package realcluster

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

// Whole fails the test if a volume of the collection is read-only, has another number of copies
// than its placement, or a shard is missing or there twice.
func (c *Cluster) Whole() {
	c.T.Helper()
	copies, wanted, shards := map[uint32]int{}, map[uint32]int{}, map[uint32]uint32{}
	for _, server := range c.Servers() {
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == c.Collection {
					assert.False(c.T, v.ReadOnly, "volume %d on %s is read-only", v.ID, server.Address)
					copies[v.ID]++
					wanted[v.ID] = plan.Copies(v.Placement)
				}
			}
			for _, e := range disk.Shards {
				if e.Collection == c.Collection {
					assert.Zero(c.T, shards[e.ID]&e.Bits, "a shard of volume %d is there twice", e.ID)
					shards[e.ID] |= e.Bits
				}
			}
		}
	}
	for id, n := range copies {
		assert.Equal(c.T, wanted[id], n, "copies of volume %d", id)
		assert.Zero(c.T, shards[id], "volume %d and its shards", id)
	}
	for id, bits := range shards {
		assert.EqualValues(c.T, 1<<14-1, bits, "shards of volume %d", id)
	}
}

// Writable returns the HTTP address of the server whose replica of a volume takes writes.
func (c *Cluster) Writable(volume string) string {
	c.T.Helper()
	for _, server := range c.Servers() {
		for _, v := range server.Disks[0].Volumes {
			if fmt.Sprint(v.ID) == volume && !v.ReadOnly {
				host, port, _ := strings.Cut(server.Address, ":")
				port, _, _ = strings.Cut(port, ".")
				return host + ":" + port
			}
		}
	}
	c.T.Fatalf("no replica of volume %s takes writes", volume)
	return ""
}
