package fakecluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Cluster is a master with its volume servers.
type Cluster struct {
	faults

	mu      sync.Mutex
	servers map[string]*Server
	leases  map[string]*lease
	clock   uint64
	now     func() time.Time
	limitMB uint64
	delay   func(method string) time.Duration
	kv      map[string][]byte
}

// Server is one volume server.
type Server struct {
	// Address is host:port of its HTTP interface, as in the topology.
	Address, DataCenter, Rack string
	// Max is the capacity in volumes, TotalBytes in bytes. Zero FreeBytes and TotalBytes mean that the server does
	// not report them.
	Max                   int
	TotalBytes, FreeBytes uint64
	DiskType              string

	grpcPort uint32
	down     bool
	volumes  map[uint32]*volume
	shards   map[uint32]*ecVolume
	vifs     map[uint32]vif
	// hidden are replicas whose files are there, and that are not loaded.
	hidden map[uint32]*volume
	// Sources of copies in progress, by volume.
	arriving map[uint32][]string
	// Copies interrupted by a restart, whose notes remain.
	interrupted map[uint32]string // sources by volume
}

// lease is the master's exclusive lock of one name.
type lease struct {
	client string
	token  int64
	since  int64
	until  time.Time
}

// LeaseTime is the duration of a lease of the master.
const LeaseTime = 10 * time.Second

// New returns an empty cluster. now is the clock of leases; nil means the real one.
func New(now func() time.Time) *Cluster {
	if now == nil {
		now = time.Now
	}
	return &Cluster{servers: map[string]*Server{}, leases: map[string]*lease{}, kv: map[string][]byte{}, now: now, limitMB: 30_000, clock: 1}
}

// SetVolumeLimit sets the size at which a volume is full.
func (c *Cluster) SetVolumeLimit(megabytes uint64) { c.limitMB = megabytes }

// Add adds a server to the cluster.
func (c *Cluster) Add(s Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.volumes, s.hidden, s.shards, s.vifs = map[uint32]*volume{}, map[uint32]*volume{}, map[uint32]*ecVolume{}, map[uint32]vif{}
	s.arriving, s.interrupted = map[uint32][]string{}, map[uint32]string{}
	c.servers[s.Address] = &s
}

// Volume describes a volume to put on servers.
type Volume struct {
	ID         uint32
	Collection string
	// Objects is the number of objects of ObjectSize, Deleted the number of deleted ones among them.
	Objects, Deleted int
	ObjectSize       uint64
	Placement        uint32
	ModifiedAt       int64
	ReadOnly         bool
}

// Put writes the same volume to each of the servers.
func (c *Cluster) Put(v Volume, servers ...string) {
	sizes := make([]uint64, v.Objects)
	for i := range sizes {
		sizes[i] = v.ObjectSize
	}
	c.PutObjects(v, sizes, servers...)
}

// PutObjects is Put with the given sizes of objects.
func (c *Cluster) PutObjects(v Volume, sizes []uint64, servers ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := &volume{collection: v.Collection, placement: v.Placement, modified: v.ModifiedAt}
	for i, size := range sizes {
		made.log = append(made.log, entry{key: uint64(v.ID)<<32 + uint64(i), at: c.tick(), size: size}) //nolint:gosec // an index
	}
	for i := range v.Deleted {
		made.log = append(made.log, entry{key: uint64(v.ID)<<32 + uint64(i), at: c.tick(), deleted: true})
	}
	for _, address := range servers {
		replica := made.clone()
		replica.readOnly, replica.info.readOnly, replica.diskType = v.ReadOnly, v.ReadOnly, c.servers[address].DiskType
		c.servers[address].volumes[v.ID], c.servers[address].vifs[v.ID] = replica, replica.info
	}
}

func (c *Cluster) tick() uint64 {
	c.clock++
	return c.clock
}

var errDown = errors.New("connection refused")

func (c *Cluster) server(address string) (*Server, error) {
	s, ok := c.servers[address]
	if !ok || s.down {
		return nil, fmt.Errorf("%s: %w", address, errDown)
	}
	return s, nil
}

// volume returns a replica. Its error has SeaweedFS's text.
func (c *Cluster) volume(address string, id uint32) (*volume, error) {
	s, err := c.server(address)
	if err != nil {
		return nil, err
	}
	v, ok := s.volumes[id]
	if !ok {
		return nil, fmt.Errorf("not found volume id %d", id)
	}
	return v, nil
}

// SetDown makes a server unreachable, or restarts it: marks that were not persisted are gone, every shard on its
// disks is mounted, and a replica next to shards is not loaded. Seen on 4.44 after kill -9.
func (c *Cluster) SetDown(address string, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[address]
	s.down = down
	// A starting server removes a copy with a note only if an .idx or a .vif file exists, which come after the .dat
	// file. Seen on 4.44 after kill -9.
	for id, sources := range s.arriving {
		s.interrupted[id] = sources[len(sources)-1]
	}
	clear(s.arriving)
	if down {
		return
	}
	maps.Copy(s.volumes, s.hidden)
	clear(s.hidden)
	for id, v := range s.volumes {
		if e := s.shards[id]; e != nil && e.index != nil && !v.ghost {
			delete(s.volumes, id)
			s.hidden[id] = v
			continue
		}
		if v.ghost {
			delete(s.volumes, id)
			continue
		}
		v.info = s.vifs[id]
		v.readOnly, v.sorted, v.compacted = v.info.readOnly, v.info.readOnly, nil
	}
	for _, e := range s.shards {
		for shard := range e.files {
			if e.index != nil {
				e.mounted[shard] = true
			}
		}
	}
}

// Remove removes a server permanently with all its data.
func (c *Cluster) Remove(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.servers, address)
}

// Addresses lists the servers.
func (c *Cluster) Addresses() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.servers))
}

// Lease takes or renews the lock of a name, like the master.
func (c *Cluster) Lease(name, client string, previousToken, previousTime int64) (token, since int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	held, ok := c.leases[name]
	if ok && now.Before(held.until) && (held.token != previousToken || held.since != previousTime) {
		return 0, 0, fmt.Errorf("already locked by %s", held.client)
	}
	made := &lease{client: client, token: int64(c.tick()), since: now.UnixNano(), until: now.Add(LeaseTime)} //nolint:gosec // a counter
	c.leases[name] = made
	return made.token, made.since, nil
}

// Release releases a lock. The token of another client has no effect.
func (c *Cluster) Release(name string, token, since int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.leases[name]; ok && held.token == token && held.since == since {
		delete(c.leases, name)
	}
}

// Holder returns the client that holds a lock, or "".
func (c *Cluster) Holder(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.leases[name]; ok && c.now().Before(held.until) {
		return held.client
	}
	return ""
}
