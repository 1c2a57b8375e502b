package plan

import (
	"cmp"
	"slices"
)

// Topology is the cluster as a master sees it.
type Topology struct {
	Servers []Server
	// LimitBytes is the size at which a volume is full.
	LimitBytes uint64
}

// Server is one volume server.
type Server struct {
	// Address is host:http or host:http.grpc, as in calls.
	Address          string
	DataCenter, Rack string
	Disks            []Disk
}

// Disk sums up the disks of one type of a server.
type Disk struct {
	// Type is hdd if the master reports none.
	Type string
	// Max is the number of volumes that fit, 0 if unknown.
	Max     int64
	Volumes []Volume
	Shards  []Shards
	// Tags are the labels that the server gives the disks.
	Tags []string
	// TotalBytes is 0 if the server does not report it.
	TotalBytes, FreeBytes uint64
}

// Volume is one replica.
type Volume struct {
	ID           uint32
	Collection   string
	Size         uint64
	DeletedBytes uint64
	ReadOnly     bool
	Placement    uint32
	ModifiedAt   int64 // seconds
	Remote       bool
	Disk         uint32
}

// Shards are the shards of one erasure-coded volume on one disk: bit n is shard n.
type Shards struct {
	ID         uint32
	Collection string
	Bits       uint32
	Disk       uint32
	Sizes      []int64
}

// Copies is the number of replicas of placement xyz: 1 + x + y + z.
func Copies(placement uint32) int {
	return 1 + int(placement/100%10) + int(placement/10%10) + int(placement%10)
}

// Garbage is the share of deleted bytes.
func (v Volume) Garbage() float64 {
	if v.Size == 0 {
		return 0
	}
	return float64(v.DeletedBytes) / float64(v.Size)
}

type placed struct {
	Volume
	server int // index into Topology.Servers
	disk   string
}

// One sorted slice instead of a map of slices: a large cluster has 100,000 volumes.
func (t Topology) volumes() [][]placed {
	count := 0
	for _, s := range t.Servers {
		for _, d := range s.Disks {
			count += len(d.Volumes)
		}
	}
	all := make([]placed, 0, count)
	for i, s := range t.Servers {
		for _, d := range s.Disks {
			for _, v := range d.Volumes {
				all = append(all, placed{v, i, d.Type})
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(t.Servers[a.server].Address, t.Servers[b.server].Address))
	})
	var groups [][]placed
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].ID == all[start].ID {
			end++
		}
		groups = append(groups, all[start:end:end])
		start = end
	}
	return groups
}

// Find returns the servers with a replica of a volume, in order of address, and those with shards of it.
func (t Topology) Find(id uint32) (replicas, holders []string, volume Volume) {
	for _, s := range t.Servers {
		for _, d := range s.Disks {
			for _, v := range d.Volumes {
				if v.ID == id {
					replicas, volume = append(replicas, s.Address), v
				}
			}
			for _, e := range d.Shards {
				if e.ID == id && !slices.Contains(holders, s.Address) {
					holders = append(holders, s.Address)
				}
			}
		}
	}
	slices.Sort(replicas)
	slices.Sort(holders)
	return replicas, holders, volume
}
