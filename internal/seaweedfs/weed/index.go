package weed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
)

// Index reads the index of a replica. It takes some 16 bytes of transfer and 50 of memory for each object.
func (c *Cluster) Index(ctx context.Context, server string, id uint32) steps.Index {
	read := indexReader{offset: 4, writes: map[uint64]uint32{}}
	prepare := func(files *volumepb.FileStatusResponse) uint64 {
		if files.GetVolumeInfo().GetBytesOffset() == wideOffset {
			read.offset = wideOffset
		}
		return files.GetIdxFileSize()
	}
	if err := c.readIndex(ctx, server, id, prepare, read.take); err != nil {
		return steps.Index{Why: Reason(err)}
	}
	return read.index()
}

// HiddenIndex reads the index of a replica that its server does not load, or else of the shards next to it.
func (c *Cluster) HiddenIndex(ctx context.Context, server string, id uint32, collection string) steps.Index {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return steps.Index{Why: err.Error()}
	}
	info, err := volumeInfo(ctx, client, id, collection)
	if err != nil {
		return steps.Index{Why: Reason(err)}
	}
	for _, file := range []string{".idx", ".ecx"} {
		read := indexReader{offset: 4, writes: map[uint64]uint32{}}
		if info.GetBytesOffset() == wideOffset {
			read.offset = wideOffset
		}
		stream, err := client.CopyFile(ctx, &volumepb.CopyFileRequest{
			VolumeId: id, Collection: collection, Ext: file, IsEcVolume: true, StopOffset: math.MaxInt64, CompactionRevision: math.MaxUint32,
		})
		if err == nil {
			err = drain(stream, func(r *volumepb.CopyFileResponse) { read.take(r.GetFileContent()) })
		}
		switch {
		case err == nil:
			index := read.index()
			index.OfShards = file == ".ecx"
			return index
		case !notFound(err):
			return steps.Index{Why: Reason(err)}
		}
	}
	return steps.Index{Presence: steps.Absent}
}

// IndexHead reads the first bytes of a replica's index.
func (c *Cluster) IndexHead(ctx context.Context, server string, id uint32, size uint64) steps.Index {
	left, digest := size, sha256.New()
	take := func(content []byte) {
		content = content[:min(left, uint64(len(content)))]
		left -= uint64(len(content))
		digest.Write(content)
	}
	err := c.readIndex(ctx, server, id, func(*volumepb.FileStatusResponse) uint64 { return size }, take)
	if err == nil && left > 0 {
		err = fmt.Errorf("the index lacks %d of %d bytes", left, size)
	}
	if err != nil {
		return steps.Index{Why: Reason(err)}
	}
	return steps.Index{Presence: steps.Present, Head: [32]byte(digest.Sum(nil))}
}

func (c *Cluster) readIndex(ctx context.Context, server string, id uint32, until func(*volumepb.FileStatusResponse) uint64, take func([]byte)) error {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	client, err := c.volumeServer(server)
	if err != nil {
		return err
	}
	files, err := client.ReadVolumeFileStatus(ctx, &volumepb.VolumeRequest{VolumeId: id})
	if err != nil {
		return err
	}
	stream, err := client.CopyFile(ctx, &volumepb.CopyFileRequest{
		VolumeId: id, Ext: ".idx", StopOffset: until(files), CompactionRevision: math.MaxUint32,
	})
	if err != nil {
		return err
	}
	return drain(stream, func(r *volumepb.CopyFileResponse) { take(r.GetFileContent()) })
}

// wideOffset is the length of an offset in servers built for volumes above 32 GiB.
const wideOffset = 5

// An entry without an offset, or with a negative size, deletes its object.
type indexReader struct {
	offset int
	rest   []byte
	// writes counts the writes of each live object.
	writes map[uint64]uint32
}

func (r *indexReader) take(content []byte) {
	r.rest = append(r.rest, content...)
	length := 8 + r.offset + 4
	for len(r.rest) >= length {
		entry := r.rest[:length]
		key, size := binary.BigEndian.Uint64(entry), int32(binary.BigEndian.Uint32(entry[length-4:])) //nolint:gosec // it is signed on disk
		if size < 0 || len(bytes.Trim(entry[8:length-4], "\x00")) == 0 {
			delete(r.writes, key)
		} else {
			r.writes[key]++
		}
		r.rest = r.rest[length:]
	}
}

func (r *indexReader) index() steps.Index {
	made := steps.Index{Presence: steps.Present, Live: uint64(len(r.writes))}
	for key, writes := range r.writes {
		mixed := mix(key ^ bits.Reverse64(uint64(writes)))
		made.Digest[0] += mixed
		made.Digest[1] += mix(mixed)
	}
	return made
}

// mix spreads the bits of a number (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
