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

// Half the time that SeaweedFS waits for another append in a tail. The source is read-only, so none comes.
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
			seen := steps.Replica{
				Presence: steps.Present, ReadOnly: state.GetIsReadOnly(), Dat: files.GetDatFileSize(), Idx: files.GetIdxFileSize(),
				Revision: files.GetCompactionRevision(),
			}
			return onDisk(ctx, client, id, files.GetCollection(), seen)
		}
	}
	if notFound(err) {
		return steps.Replica{Presence: steps.Absent}
	}
	return steps.Replica{Why: Reason(err)}
}

// A server also reports the sizes of deleted files that it holds open.
func onDisk(ctx context.Context, client volumepb.VolumeServerClient, id uint32, collection string, seen steps.Replica) steps.Replica {
	stream, err := client.CopyFile(ctx, &volumepb.CopyFileRequest{
		VolumeId: id, Collection: collection, Ext: ".idx", IsEcVolume: true, StopOffset: 1, CompactionRevision: math.MaxUint32,
	})
	if err == nil {
		err = drain(stream, func(*volumepb.CopyFileResponse) {})
	}
	switch {
	case notFound(err):
		seen.Presence, seen.Ghost, seen.Why = steps.Unknown, true, "its files are gone, the server only holds them open"
	case err != nil:
		return steps.Replica{Why: Reason(err)}
	}
	return seen
}

// Arriving detects a copy in progress from the note that the server keeps next to its files.
func (c *Cluster) Arriving(ctx context.Context, server string, id uint32, collection string) steps.Replica {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return steps.Replica{Why: err.Error()}
	}
	note, err := readFile(ctx, client, id, collection, ".note")
	switch {
	case err != nil:
		return steps.Replica{Why: Reason(err)}
	case len(note) > 0:
		return steps.Replica{Arriving: true, Why: "a copy is under way: " + string(note)}
	}
	return steps.Replica{Presence: steps.Absent}
}

// Sealed sets whether the mark of a read-only replica outlives a restart of its server.
func (c *Cluster) Sealed(ctx context.Context, server string, id uint32, collection string, seen steps.Replica) steps.Replica {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return steps.Replica{Why: err.Error()}
	}
	info, err := volumeInfo(ctx, client, id, collection)
	if err != nil {
		return steps.Replica{Why: Reason(err)}
	}
	seen.Sealed = info.GetReadOnly()
	return seen
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
		Deleted: info.GetFileDeletedCount(),
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

// maxSmallFile bounds the small files next to a volume.
const maxSmallFile = 1 << 20

// A missing file is empty. The request names it a file of shards, so the volume need not be loaded.
func readFile(ctx context.Context, client volumepb.VolumeServerClient, id uint32, collection, ext string) (content []byte, err error) {
	stream, err := client.CopyFile(ctx, &volumepb.CopyFileRequest{
		VolumeId: id, Collection: collection, Ext: ext, IsEcVolume: true, IgnoreSourceFileNotFound: true,
		StopOffset: maxSmallFile, CompactionRevision: math.MaxUint32,
	})
	if err != nil {
		return nil, err
	}
	return content, drain(stream, func(r *volumepb.CopyFileResponse) { content = append(content, r.GetFileContent()...) })
}

func volumeInfo(ctx context.Context, client volumepb.VolumeServerClient, id uint32, collection string) (*volumepb.VolumeInfo, error) {
	content, err := readFile(ctx, client, id, collection, ".vif")
	if err != nil {
		return nil, err
	}
	info := &volumepb.VolumeInfo{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, info); err != nil {
		return &volumepb.VolumeInfo{}, nil //nolint:nilerr // another version's file names no size
	}
	return info, nil
}

// Do carries out one call. moved, if not nil, receives the bytes of calls that report them.
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
	switch call.Op { //nolint:exhaustive // the calls that Do passes
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
	switch call.Op { //nolint:exhaustive // the calls that Do passes
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
	switch call.Op { //nolint:exhaustive // the calls that Do passes
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
