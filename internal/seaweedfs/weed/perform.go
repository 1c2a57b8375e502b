package weed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

// tailIdleSeconds is how long a tail waits for another append: SeaweedFS waits twice
// that long. The source is read-only, so that none comes.
const tailIdleSeconds = 1

// Replica looks at a volume on one server.
func (c *Cluster) Replica(ctx context.Context, server string, id uint32) steps.Replica {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return steps.Replica{Why: err.Error()}
	}
	request := &volumepb.VolumeRequest{VolumeId: id}
	files, err := client.ReadVolumeFileStatus(ctx, request)
	if err == nil {
		var state *volumepb.VolumeStatusResponse
		if state, err = client.VolumeStatus(ctx, request); err == nil {
			return steps.Replica{
				Presence: steps.Present, ReadOnly: state.GetIsReadOnly(), Dat: files.GetDatFileSize(), Idx: files.GetIdxFileSize(),
				Revision: files.GetCompactionRevision(),
			}
		}
	}
	if notFound(err) {
		return steps.Replica{Presence: steps.Absent}
	}
	return steps.Replica{Why: Reason(err)}
}

// Shards looks at the mounted shards of a volume on one server.
func (c *Cluster) Shards(ctx context.Context, server string, id uint32) steps.Shards {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return steps.Shards{Why: err.Error()}
	}
	info, err := client.VolumeEcShardsInfo(ctx, &volumepb.VolumeRequest{VolumeId: id})
	switch {
	case notFound(err):
		return steps.Shards{Presence: steps.Absent}
	case err != nil:
		return steps.Shards{Why: Reason(err)}
	}
	seen := steps.Shards{
		Presence: steps.Present, Sizes: map[uint32]int64{}, Entries: info.GetFileCount() + info.GetFileDeletedCount(), Bytes: info.GetVolumeSize(),
	}
	collection := ""
	for _, shard := range info.GetShards() {
		seen.Sizes[shard.GetShardId()], collection = shard.GetSize(), shard.GetCollection()
	}
	made, err := volumeInfo(ctx, client, id, collection)
	if err != nil {
		return steps.Shards{Why: Reason(err)}
	}
	seen.Made, seen.Encoded = uint64(max(0, made.GetDatFileSize())), made.GetEcShardConfig().GetEncodeTsNs()
	return seen
}

// maxVolumeInfo bounds a .vif file.
const maxVolumeInfo = 1 << 20

// volumeInfo reads the .vif file beside the shards of a volume. A file that is
// missing or not readable as JSON is empty.
func volumeInfo(ctx context.Context, client volumepb.VolumeServerClient, id uint32, collection string) (*volumepb.VolumeInfo, error) {
	stream, err := client.CopyFile(ctx, &volumepb.CopyFileRequest{
		VolumeId: id, Collection: collection, Ext: ".vif", IsEcVolume: true, IgnoreSourceFileNotFound: true,
		StopOffset: maxVolumeInfo, CompactionRevision: math.MaxUint32,
	})
	if err != nil {
		return nil, err
	}
	var content []byte
	if err := drain(stream, func(r *volumepb.CopyFileResponse) { content = append(content, r.GetFileContent()...) }); err != nil {
		return nil, err
	}
	info := &volumepb.VolumeInfo{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, info); err != nil {
		return &volumepb.VolumeInfo{}, nil //nolint:nilerr // another version's file names no size
	}
	return info, nil
}

// Do carries out one call. moved is called with the bytes of a call that reports
// them; may be nil.
func (c *Cluster) Do(ctx context.Context, call steps.Call, moved func(int64)) (steps.Answer, error) {
	if !call.Long() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shortTimeout)
		defer cancel()
	}
	client, err := c.volumeServer(call.Server)
	if err != nil {
		return steps.Answer{}, err
	}
	if moved == nil {
		moved = func(int64) {}
	}
	switch call.Op {
	case steps.Check, steps.Compact, steps.Commit, steps.Cleanup:
		return vacuum(ctx, client, call, moved)
	case steps.MarkReadOnly, steps.MarkWritable, steps.Copy, steps.Tail, steps.Delete:
		return change(ctx, client, call, moved)
	case steps.EcGenerate, steps.EcCopy, steps.EcMount, steps.EcUnmount, steps.EcDelete:
		return steps.Answer{}, encode(ctx, client, call)
	}
	return steps.Answer{}, fmt.Errorf("%s is no call", call.Op)
}

func vacuum(ctx context.Context, client volumepb.VolumeServerClient, call steps.Call, moved func(int64)) (answer steps.Answer, err error) {
	request := &volumepb.VolumeRequest{VolumeId: call.Volume}
	switch call.Op { //nolint:exhaustive // those that Do passes
	case steps.Check:
		response, err := client.VacuumVolumeCheck(ctx, request)
		return steps.Answer{Garbage: response.GetGarbageRatio()}, err
	case steps.Compact:
		stream, err := client.VacuumVolumeCompact(ctx, request)
		if err != nil {
			return answer, err
		}
		return answer, drain(stream, func(r *volumepb.VacuumCompactResponse) { moved(r.GetProcessedBytes()) })
	case steps.Commit:
		response, err := client.VacuumVolumeCommit(ctx, request)
		return steps.Answer{ReadOnly: response.GetIsReadOnly()}, err
	}
	_, err = client.VacuumVolumeCleanup(ctx, request)
	return answer, err
}

func change(ctx context.Context, client volumepb.VolumeServerClient, call steps.Call, moved func(int64)) (answer steps.Answer, err error) {
	switch call.Op { //nolint:exhaustive // those that Do passes
	case steps.MarkReadOnly:
		_, err = client.VolumeMarkReadonly(ctx, &volumepb.MarkReadonlyRequest{VolumeId: call.Volume, Persist: call.Persist})
	case steps.MarkWritable:
		_, err = client.VolumeMarkWritable(ctx, &volumepb.VolumeRequest{VolumeId: call.Volume})
	case steps.Copy:
		request := &volumepb.VolumeCopyRequest{VolumeId: call.Volume, SourceDataNode: call.Source, DiskType: call.DiskType, IoBytePerSecond: call.IOLimit}
		stream, err := client.VolumeCopy(ctx, request)
		if err != nil {
			return answer, err
		}
		err = drain(stream, func(r *volumepb.VolumeCopyResponse) {
			answer.SinceNS = max(answer.SinceNS, r.GetLastAppendAtNs())
			moved(r.GetProcessedBytes())
		})
		return answer, err
	case steps.Tail:
		_, err = client.VolumeTailReceiver(ctx, &volumepb.TailRequest{VolumeId: call.Volume, SinceNs: call.SinceNS, IdleTimeoutSeconds: tailIdleSeconds, SourceVolumeServer: call.Source})
	case steps.Delete:
		_, err = client.VolumeDelete(ctx, &volumepb.VolumeDeleteRequest{VolumeId: call.Volume, KeepRemoteData: true})
	}
	return answer, err
}

func encode(ctx context.Context, client volumepb.VolumeServerClient, call steps.Call) (err error) {
	id, collection := call.Volume, call.Collection
	switch call.Op { //nolint:exhaustive // those that Do passes
	case steps.EcGenerate:
		_, err = client.VolumeEcShardsGenerate(ctx, &volumepb.EcGenerateRequest{VolumeId: id, Collection: collection})
	case steps.EcCopy:
		_, err = client.VolumeEcShardsCopy(ctx, &volumepb.EcCopyRequest{
			VolumeId: id, Collection: collection, ShardIds: call.Shards, SourceDataNode: call.Source, DiskId: call.Disk, IoBytePerSecond: call.IOLimit,
			CopyEcxFile: true, CopyEcjFile: true, CopyVifFile: true, CopyEcsumFile: true,
		})
	case steps.EcMount:
		_, err = client.VolumeEcShardsMount(ctx, &volumepb.EcMountRequest{VolumeId: id, Collection: collection, ShardIds: call.Shards})
	case steps.EcUnmount:
		_, err = client.VolumeEcShardsUnmount(ctx, &volumepb.EcUnmountRequest{VolumeId: id, ShardIds: call.Shards})
	case steps.EcDelete:
		_, err = client.VolumeEcShardsDelete(ctx, &volumepb.EcDeleteRequest{VolumeId: id, Collection: collection, ShardIds: call.Shards})
	}
	return err
}

// drain reads a stream to its end.
func drain[T any](stream grpc.ServerStreamingClient[T], each func(*T)) error {
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		each(message)
	}
}
