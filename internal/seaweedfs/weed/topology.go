package weed

import (
	"cmp"
	"context"
	"slices"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

// Topology reads the whole cluster from a master.
func (c *Cluster) Topology(ctx context.Context) (plan.Topology, error) {
	return c.topology(ctx, &masterpb.VolumeListRequest{})
}

// Volume reads the servers with one volume. A master without that filter returns the whole cluster.
func (c *Cluster) Volume(ctx context.Context, id uint32) (plan.Topology, error) {
	return c.topology(ctx, &masterpb.VolumeListRequest{VolumeId: id})
}

func (c *Cluster) topology(ctx context.Context, request *masterpb.VolumeListRequest) (plan.Topology, error) {
	var response *masterpb.VolumeListResponse
	_, err := c.onMaster(ctx, masterTimeout, func(ctx context.Context, master masterpb.SeaweedClient) (err error) {
		response, err = master.VolumeList(ctx, request)
		return err
	})
	if err != nil {
		return plan.Topology{}, err
	}
	return convert(response), nil
}

// convert sorts the servers by address, so that a plan does not depend on a master's order.
func convert(response *masterpb.VolumeListResponse) plan.Topology {
	made := plan.Topology{LimitBytes: response.GetVolumeSizeLimitMb() << 20}
	for _, dc := range response.GetTopology().GetDataCenters() {
		for _, rack := range dc.GetRacks() {
			for _, node := range rack.GetNodes() {
				server := plan.Server{
					Address:    formAddress(node.GetAddress(), node.GetId(), node.GetGrpcPort()),
					DataCenter: dc.GetId(), Rack: rack.GetId(),
				}
				for name, disk := range node.GetDisks() {
					server.Disks = append(server.Disks, convertDisk(name, disk))
				}
				slices.SortFunc(server.Disks, func(a, b plan.Disk) int { return cmp.Compare(a.Type, b.Type) })
				made.Servers = append(made.Servers, server)
			}
		}
	}
	slices.SortFunc(made.Servers, func(a, b plan.Server) int { return cmp.Compare(a.Address, b.Address) })
	return made
}

func convertDisk(name string, disk *masterpb.Disk) plan.Disk {
	made := plan.Disk{
		Type: cmp.Or(disk.GetType(), name, "hdd"), Max: disk.GetMaxVolumeCount(),
		TotalBytes: disk.GetTotalBytes(), FreeBytes: disk.GetFreeBytes(),
		Volumes: make([]plan.Volume, 0, len(disk.GetVolumes())),
	}
	for _, tag := range disk.GetTags() {
		made.Tags = append(made.Tags, string(tag))
	}
	for _, v := range disk.GetVolumes() {
		made.Volumes = append(made.Volumes, plan.Volume{
			ID: v.GetId(), Collection: v.GetCollection(), Size: v.GetSize(), DeletedBytes: v.GetDeletedBytes(),
			ReadOnly: v.GetReadOnly(), Placement: v.GetReplicaPlacement(),
			ModifiedAt: v.GetModifiedAtSecond(), Remote: v.GetRemoteStorageName() != "", Disk: v.GetDiskId(),
		})
	}
	for _, e := range disk.GetEcVolumes() {
		made.Shards = append(made.Shards, plan.Shards{ID: e.GetId(), Collection: e.GetCollection(), Bits: e.GetShardBits(), Disk: e.GetDiskId(), Sizes: e.GetShardSizes()})
	}
	return made
}
