package scrub

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// digest is a SHA-256.
type digest [32]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// record is the baseline of one file. Times are zero where they do not apply.
type record struct {
	Digest  digest
	Size    int64
	MtimeNS int64
	// RecordedAt is when this digest became the baseline, VerifiedAt when the
	// file last matched it.
	RecordedAt time.Time
	VerifiedAt time.Time
	// RotAt is when the file last failed to match; it is proposed again by
	// every detection until it matches or changes.
	RotAt time.Time
	// MissingSince is when a sweep first found the file gone.
	MissingSince time.Time
}

// describes reports whether the baseline is about a file of this identity.
func (r record) describes(file identity) bool {
	return r.Size == file.Size && r.MtimeNS == file.MtimeNS
}

const (
	recordVersion = 1
	recordSize    = 1 + len(digest{}) + 6*8
)

// encode is fixed-size and binary: a tree of ten million files has ten million
// records, and they are read at every detection.
func (r record) encode() []byte {
	data := make([]byte, 0, recordSize)
	data = append(data, recordVersion)
	data = append(data, r.Digest[:]...)
	for _, number := range []int64{r.Size, r.MtimeNS, unixNano(r.RecordedAt), unixNano(r.VerifiedAt), unixNano(r.RotAt), unixNano(r.MissingSince)} {
		data = binary.BigEndian.AppendUint64(data, uint64(number)) //nolint:gosec // the bits are what is kept
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
		value := int64(binary.BigEndian.Uint64(rest)) //nolint:gosec // the bits are what was kept
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
