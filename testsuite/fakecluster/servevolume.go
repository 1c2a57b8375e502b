package fakecluster

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

type volumeServer struct {
	volumepb.UnimplementedVolumeServerServer
	cluster *Cluster
	address string
}

// change carries out a call with an empty answer.
func (s *volumeServer) change(ctx context.Context, method string, do func() error) (*volumepb.Empty, error) {
	return perform(ctx, s.cluster, method, s.address, &volumepb.Empty{}, func() (*volumepb.Empty, error) {
		return &volumepb.Empty{}, do()
	})
}

// VacuumVolumeCheck implements the call of that name.
func (s *volumeServer) VacuumVolumeCheck(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.VacuumCheckResponse, error) {
	return perform(ctx, s.cluster, "VacuumVolumeCheck", s.address, &volumepb.VacuumCheckResponse{}, func() (*volumepb.VacuumCheckResponse, error) {
		garbage, err := s.cluster.Check(s.address, in.GetVolumeId())
		return &volumepb.VacuumCheckResponse{GarbageRatio: garbage}, err
	})
}

// VacuumVolumeCompact implements the call of that name.
func (s *volumeServer) VacuumVolumeCompact(in *volumepb.VolumeRequest, stream grpc.ServerStreamingServer[volumepb.VacuumCompactResponse]) error {
	_, err := s.change(stream.Context(), "VacuumVolumeCompact", func() error { return s.cluster.Compact(s.address, in.GetVolumeId()) })
	if err != nil {
		return err
	}
	return stream.Send(&volumepb.VacuumCompactResponse{ProcessedBytes: 1})
}

// VacuumVolumeCommit implements the call of that name.
func (s *volumeServer) VacuumVolumeCommit(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.VacuumCommitResponse, error) {
	return perform(ctx, s.cluster, "VacuumVolumeCommit", s.address, &volumepb.VacuumCommitResponse{}, func() (*volumepb.VacuumCommitResponse, error) {
		readOnly, err := s.cluster.Commit(s.address, in.GetVolumeId())
		return &volumepb.VacuumCommitResponse{IsReadOnly: readOnly}, err
	})
}

// VacuumVolumeCleanup implements the call of that name.
func (s *volumeServer) VacuumVolumeCleanup(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VacuumVolumeCleanup", func() error { return s.cluster.Cleanup(s.address, in.GetVolumeId()) })
}

// VolumeStatus implements the call of that name.
func (s *volumeServer) VolumeStatus(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.VolumeStatusResponse, error) {
	return perform(ctx, s.cluster, "VolumeStatus", s.address, &volumepb.VolumeStatusResponse{}, func() (*volumepb.VolumeStatusResponse, error) {
		v, err := s.cluster.Status(s.address, in.GetVolumeId())
		return &volumepb.VolumeStatusResponse{IsReadOnly: v.ReadOnly, VolumeSize: v.Dat, FileCount: v.Files, FileDeletedCount: v.Deleted}, err
	})
}

// ReadVolumeFileStatus implements the call of that name.
func (s *volumeServer) ReadVolumeFileStatus(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.FileStatusResponse, error) {
	return perform(ctx, s.cluster, "ReadVolumeFileStatus", s.address, &volumepb.FileStatusResponse{}, func() (*volumepb.FileStatusResponse, error) {
		v, err := s.cluster.Status(s.address, in.GetVolumeId())
		return &volumepb.FileStatusResponse{
			VolumeId: in.GetVolumeId(), IdxFileSize: v.Idx, DatFileSize: v.Dat, FileCount: v.Files, CompactionRevision: v.Revision, Collection: v.Collection,
		}, err
	})
}

// VolumeMarkReadonly implements the call of that name.
func (s *volumeServer) VolumeMarkReadonly(ctx context.Context, in *volumepb.MarkReadonlyRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeMarkReadonly", func() error { return s.cluster.MarkReadOnly(s.address, in.GetVolumeId(), in.GetPersist()) })
}

// VolumeMarkWritable implements the call of that name.
func (s *volumeServer) VolumeMarkWritable(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeMarkWritable", func() error { return s.cluster.MarkWritable(s.address, in.GetVolumeId()) })
}

// VolumeCopy implements the call of that name.
func (s *volumeServer) VolumeCopy(in *volumepb.VolumeCopyRequest, stream grpc.ServerStreamingServer[volumepb.VolumeCopyResponse]) error {
	s.cluster.limit(in.GetIoBytePerSecond())
	last, err := perform(stream.Context(), s.cluster, "VolumeCopy", s.address, 0, func() (uint64, error) {
		return s.cluster.Copy(s.address, resolve(in.GetSourceDataNode()), in.GetVolumeId())
	})
	if err != nil {
		if errors.Is(err, errLost) {
			s.cluster.LoseFiles(s.address, in.GetVolumeId())
		}
		return err
	}
	if err := stream.Send(&volumepb.VolumeCopyResponse{ProcessedBytes: 1}); err != nil {
		return err
	}
	return stream.Send(&volumepb.VolumeCopyResponse{LastAppendAtNs: last})
}

// VolumeTailReceiver implements the call of that name.
func (s *volumeServer) VolumeTailReceiver(ctx context.Context, in *volumepb.TailRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeTailReceiver", func() error {
		return s.cluster.Tail(s.address, resolve(in.GetSourceVolumeServer()), in.GetVolumeId(), in.GetSinceNs())
	})
}

// VolumeDelete implements the call of that name.
func (s *volumeServer) VolumeDelete(ctx context.Context, in *volumepb.VolumeDeleteRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeDelete", func() error { return s.cluster.Delete(s.address, in.GetVolumeId()) })
}

// VolumeEcShardsGenerate implements the call of that name.
func (s *volumeServer) VolumeEcShardsGenerate(ctx context.Context, in *volumepb.EcGenerateRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeEcShardsGenerate", func() error { return s.cluster.EcGenerate(s.address, in.GetVolumeId(), in.GetCollection()) })
}

// VolumeEcShardsCopy implements the call of that name.
func (s *volumeServer) VolumeEcShardsCopy(ctx context.Context, in *volumepb.EcCopyRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeEcShardsCopy", func() error {
		return s.cluster.EcCopy(s.address, resolve(in.GetSourceDataNode()), in.GetVolumeId(), in.GetShardIds(), in.GetDiskId())
	})
}

// VolumeEcShardsMount implements the call of that name.
func (s *volumeServer) VolumeEcShardsMount(ctx context.Context, in *volumepb.EcMountRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeEcShardsMount", func() error { return s.cluster.EcMount(s.address, in.GetVolumeId(), in.GetShardIds()) })
}

// VolumeEcShardsUnmount implements the call of that name.
func (s *volumeServer) VolumeEcShardsUnmount(ctx context.Context, in *volumepb.EcUnmountRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeEcShardsUnmount", func() error { return s.cluster.EcUnmount(s.address, in.GetVolumeId(), in.GetShardIds()) })
}

// VolumeEcShardsDelete implements the call of that name.
func (s *volumeServer) VolumeEcShardsDelete(ctx context.Context, in *volumepb.EcDeleteRequest) (*volumepb.Empty, error) {
	return s.change(ctx, "VolumeEcShardsDelete", func() error { return s.cluster.EcDelete(s.address, in.GetVolumeId(), in.GetShardIds()) })
}

// VolumeEcShardsInfo implements the call of that name.
func (s *volumeServer) VolumeEcShardsInfo(ctx context.Context, in *volumepb.VolumeRequest) (*volumepb.EcInfoResponse, error) {
	return perform(ctx, s.cluster, "VolumeEcShardsInfo", s.address, &volumepb.EcInfoResponse{}, func() (*volumepb.EcInfoResponse, error) {
		info, err := s.cluster.EcInfo(s.address, in.GetVolumeId())
		response := &volumepb.EcInfoResponse{VolumeSize: info.Sums, FileCount: info.Files, FileDeletedCount: info.Deleted}
		for _, shard := range info.Shards {
			response.Shards = append(response.Shards, &volumepb.EcShard{ShardId: shard.ID, Size: shard.Size, Collection: info.Collection, VolumeId: in.GetVolumeId()})
		}
		return response, err
	})
}

// CopyFile serves the .vif file of shards, the .idx file of a volume, and the .note file of a copy in progress.
func (s *volumeServer) CopyFile(in *volumepb.CopyFileRequest, stream grpc.ServerStreamingServer[volumepb.CopyFileResponse]) error {
	content, err := perform(stream.Context(), s.cluster, "CopyFile", s.address, nil, func() ([]byte, error) {
		switch in.GetExt() {
		case ".idx":
			if v, err := s.cluster.Status(s.address, in.GetVolumeId()); err == nil && v.Ghost {
				return nil, fmt.Errorf("CopyFile not found ec volume id %d", in.GetVolumeId())
			}
			return s.cluster.idxFile(s.address, in.GetVolumeId(), in.GetIsEcVolume())
		case ".ecx":
			return nil, fmt.Errorf("CopyFile not found ec volume id %d", in.GetVolumeId())
		case ".note":
			return []byte(s.cluster.note(s.address, in.GetVolumeId())), nil
		}
		return s.cluster.vifFile(s.address, in.GetVolumeId())
	})
	if err != nil || len(content) == 0 && in.GetExt() == ".note" {
		return err
	}
	return stream.Send(&volumepb.CopyFileResponse{FileContent: content})
}

// vifFile returns the .vif file of a volume, or of its shards.
func (c *Cluster) vifFile(address string, id uint32) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.server(address)
	if err != nil {
		return nil, err
	}
	info := s.vifs[id]
	file := &volumepb.VolumeInfo{ReadOnly: info.readOnly}
	if info.made > 0 {
		file.DatFileSize = int64(info.made) //nolint:gosec // small
		file.EcShardConfig = &volumepb.EcShardConfig{DataShards: 10, ParityShards: 4, EncodeTsNs: info.encoded}
	}
	return protojson.Marshal(file)
}
