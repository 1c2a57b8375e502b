package fakecluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/internal/seaweedfs/filerpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

// Options configure how a cluster is served.
type Options struct {
	// Listen is the host of all listeners. Default 127.0.0.1.
	Listen string
	// MasterPort is the gRPC port of the master; 0 means a free one.
	MasterPort int
	// Credentials for mTLS; nil means a plain connection.
	Credentials credentials.TransportCredentials
	// Delay returns the duration of a call, by method; nil means none.
	Delay func(method string) time.Duration
}

// Running is a served cluster.
type Running struct {
	// Master is the address for a configuration: host:port.grpc.
	Master string
	// Filer is the address of a filer with a key-value store only.
	Filer   string
	servers []*grpc.Server
}

// Serve serves the master and every server over gRPC until Stop.
func (c *Cluster) Serve(options Options) (*Running, error) {
	host := cmp.Or(options.Listen, "127.0.0.1")
	c.delay = options.Delay
	running := &Running{}
	start := func(port int, register func(*grpc.Server)) (int, error) {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return 0, err
		}
		var with []grpc.ServerOption
		if options.Credentials != nil {
			with = append(with, grpc.Creds(options.Credentials))
		}
		server := grpc.NewServer(append(with, grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))...)
		register(server)
		running.servers = append(running.servers, server)
		go func() { _ = server.Serve(listener) }()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return 0, errors.New("no TCP listener")
		}
		return address.Port, nil
	}
	for _, address := range c.Addresses() {
		port, err := start(0, func(s *grpc.Server) {
			volumepb.RegisterVolumeServerServer(s, &volumeServer{cluster: c, address: address})
		})
		if err != nil {
			running.Stop()
			return nil, err
		}
		c.mu.Lock()
		c.servers[address].grpcPort = uint32(port) //nolint:gosec // a port
		c.mu.Unlock()
	}
	port, err := start(options.MasterPort, func(s *grpc.Server) { masterpb.RegisterSeaweedServer(s, &master{cluster: c}) })
	if err != nil {
		running.Stop()
		return nil, err
	}
	running.Master = fmt.Sprintf("%s:9333.%d", host, port)
	if port, err = start(0, func(s *grpc.Server) { filerpb.RegisterSeaweedFilerServer(s, &filer{cluster: c}) }); err != nil {
		running.Stop()
		return nil, err
	}
	running.Filer = fmt.Sprintf("%s:8888.%d", host, port)
	return running, nil
}

// Stop ends all listeners and every call.
func (r *Running) Stop() {
	for _, server := range r.servers {
		server.Stop()
	}
}

// enter applies the fault and the delay to a call.
func (c *Cluster) enter(ctx context.Context, method, server string) (Verdict, error) {
	verdict := c.judge(ctx, method, server)
	if c.delay != nil {
		if d := c.delay(method); d > 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return verdict, ctx.Err()
			case <-timer.C:
			}
		}
	}
	c.mu.Lock()
	down := server != "" && (c.servers[server] == nil || c.servers[server].down)
	c.mu.Unlock()
	if down {
		return verdict, status.Error(codes.Unavailable, errDown.Error())
	}
	switch verdict {
	case FailBefore:
		return verdict, status.Error(codes.Unknown, "the fake refuses this call")
	case Hang:
		<-ctx.Done()
		return verdict, ctx.Err()
	case Pass, FailAfter, Lie:
	}
	return verdict, nil
}

// perform carries out a call under its verdict. Errors of the cluster have code Unknown, like SeaweedFS's.
func perform[T any](ctx context.Context, c *Cluster, method, server string, empty T, do func() (T, error)) (T, error) {
	verdict, err := c.enter(ctx, method, server)
	if err != nil || verdict == Lie {
		return empty, err
	}
	response, err := do()
	switch {
	case errors.Is(err, errDown):
		return empty, status.Error(codes.Unavailable, err.Error())
	case err != nil:
		return empty, status.Error(codes.Unknown, err.Error())
	case verdict == FailAfter:
		return empty, errLost
	}
	return response, nil
}

// errLost is a lost answer of a call that had its effect.
var errLost = status.Error(codes.Unavailable, "the fake lost the answer")

type master struct {
	masterpb.UnimplementedSeaweedServer
	cluster *Cluster
}

// VolumeList implements the call of that name.
func (m *master) VolumeList(ctx context.Context, in *masterpb.VolumeListRequest) (*masterpb.VolumeListResponse, error) {
	return perform(ctx, m.cluster, "VolumeList", "", &masterpb.VolumeListResponse{}, func() (*masterpb.VolumeListResponse, error) {
		return m.cluster.list(in.GetVolumeId()), nil
	})
}

// LeaseAdminToken implements the call of that name.
func (m *master) LeaseAdminToken(ctx context.Context, in *masterpb.LeaseRequest) (*masterpb.LeaseResponse, error) {
	return perform(ctx, m.cluster, "LeaseAdminToken", "", &masterpb.LeaseResponse{}, func() (*masterpb.LeaseResponse, error) {
		token, since, err := m.cluster.Lease(in.GetLockName(), in.GetClientName(), in.GetPreviousToken(), in.GetPreviousLockTime())
		return &masterpb.LeaseResponse{Token: token, LockTsNs: since}, err
	})
}

// ReleaseAdminToken implements the call of that name.
func (m *master) ReleaseAdminToken(ctx context.Context, in *masterpb.ReleaseRequest) (*masterpb.Empty, error) {
	return perform(ctx, m.cluster, "ReleaseAdminToken", "", &masterpb.Empty{}, func() (*masterpb.Empty, error) {
		m.cluster.Release(in.GetLockName(), in.GetPreviousToken(), in.GetPreviousLockTime())
		return &masterpb.Empty{}, nil
	})
}

// list returns the topology without the servers that are down.
func (c *Cluster) list(only uint32) *masterpb.VolumeListResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	centers := map[string]map[string][]*masterpb.Node{}
	for _, address := range slices.Sorted(maps.Keys(c.servers)) {
		s := c.servers[address]
		if s.down {
			continue
		}
		if centers[s.DataCenter] == nil {
			centers[s.DataCenter] = map[string][]*masterpb.Node{}
		}
		centers[s.DataCenter][s.Rack] = append(centers[s.DataCenter][s.Rack], &masterpb.Node{
			Id: address, Address: address, GrpcPort: s.grpcPort, Disks: map[string]*masterpb.Disk{s.DiskType: s.disk(only)},
		})
	}
	topology := &masterpb.Topology{Id: "topo"}
	for _, name := range slices.Sorted(maps.Keys(centers)) {
		dc := &masterpb.DataCenter{Id: name}
		for _, rack := range slices.Sorted(maps.Keys(centers[name])) {
			dc.Racks = append(dc.Racks, &masterpb.Rack{Id: rack, Nodes: centers[name][rack]})
		}
		topology.DataCenters = append(topology.DataCenters, dc)
	}
	return &masterpb.VolumeListResponse{Topology: topology, VolumeSizeLimitMb: c.limitMB}
}

func (s *Server) disk(only uint32) *masterpb.Disk {
	disk := &masterpb.Disk{
		Type: s.DiskType, VolumeCount: int64(len(s.volumes)), MaxVolumeCount: int64(s.Max), FreeVolumeCount: int64(s.Max - len(s.volumes)),
		TotalBytes: s.TotalBytes, FreeBytes: s.FreeBytes,
	}
	for _, id := range slices.Sorted(maps.Keys(s.volumes)) {
		v := s.volumes[id]
		if only != 0 && only != id {
			continue
		}
		disk.Volumes = append(disk.Volumes, &masterpb.Volume{
			Id: id, Size: v.dat(), Collection: v.collection, FileCount: v.files(), DeletedBytes: v.garbageBytes(), ReadOnly: v.readOnly,
			ReplicaPlacement: v.placement, CompactRevision: v.revision, ModifiedAtSecond: v.modified, DiskType: v.diskType, DiskId: v.disk,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(s.shards)) {
		e := s.shards[id]
		if only != 0 && only != id || len(e.mounted) == 0 {
			continue
		}
		shown := &masterpb.EcVolume{Id: id, Collection: e.collection, DiskType: s.DiskType}
		for _, shard := range e.shardIDs() {
			shown.ShardBits |= 1 << shard
			shown.ShardSizes = append(shown.ShardSizes, e.files[shard].shardSize())
		}
		disk.EcVolumes = append(disk.EcVolumes, shown)
	}
	return disk
}

// resolve converts host:http or host:http.grpc to the server's address.
func resolve(address string) string {
	if host, ports, err := net.SplitHostPort(address); err == nil {
		http, _, _ := strings.Cut(ports, ".")
		return net.JoinHostPort(host, http)
	}
	return address
}
