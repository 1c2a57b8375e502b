package scrub

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

type digest [32]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// record is the baseline of one file. A time is zero if it does not apply.
type record struct {
	Digest  digest
	Size    int64
	MtimeNS int64
	// RecordedAt is the time when this digest became the baseline, VerifiedAt that of the last match.
	RecordedAt time.Time
	VerifiedAt time.Time
	// RotAt is the time of the last mismatch. Every detection proposes the file until it matches or changes.
	RotAt time.Time
	// MissingSince is the time of the sweep that first missed the file.
	MissingSince time.Time
}

func (r record) describes(file identity) bool {
	return r.Size == file.Size && r.MtimeNS == file.MtimeNS
}

const (
	recordVersion = 1
	recordSize    = 1 + len(digest{}) + 6*8
)

// encode is fast: a detection reads ten million records of a tree of ten million files.
func (r record) encode() []byte {
	data := make([]byte, 0, recordSize)
	data = append(data, recordVersion)
	data = append(data, r.Digest[:]...)
	for _, number := range []int64{r.Size, r.MtimeNS, unixNano(r.RecordedAt), unixNano(r.VerifiedAt), unixNano(r.RotAt), unixNano(r.MissingSince)} {
		data = binary.BigEndian.AppendUint64(data, uint64(number)) //nolint:gosec // the bits are kept
	}
	return data
}

func decodeRecord(data []byte) (record, error) {
	if len(data) != recordSize || data[0] != recordVersion {
		return record{}, fmt.Errorf("a record of %d bytes is not of format %d: the baseline file was written by another version of Roundsman or is damaged", len(data), recordVersion)
	}
	var r record
	rest := data[1+copy(r.Digest[:], data[1:]):]
	number := func() int64 {
		value := int64(binary.BigEndian.Uint64(rest)) //nolint:gosec // the bits were kept
		rest = rest[8:]
		return value
	}
	r.Size, r.MtimeNS = number(), number()
	r.RecordedAt, r.VerifiedAt, r.RotAt, r.MissingSince = fromNano(number()), fromNano(number()), fromNano(number()), fromNano(number())
	return r, nil
}

func unixNano(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixNano()
}

func fromNano(nano int64) time.Time {
	if nano == 0 {
		return time.Time{}
	}
	return time.Unix(0, nano).UTC()
}
