// Package wire is the byte format of package dag.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// ErrCorrupt is wrapped by every error about damaged bytes.
var ErrCorrupt = errors.New("dag: corrupt encoding")

// ErrVersion is wrapped by every error about bytes of an incompatible version.
var ErrVersion = errors.New("dag: unknown encoding version")

const crcSize = 4

func checksum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// Sealed appends the checksum.
func Sealed(buf []byte) []byte { return binary.LittleEndian.AppendUint32(buf, checksum(buf)) }

// Unseal checks magic and checksum and returns the bytes between them.
func Unseal(data []byte, magic string) (*Reader, error) {
	if len(data) < len(magic)+crcSize {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(data))
	}
	if string(data[:3]) != magic[:3] {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrCorrupt, magic)
	}
	if string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: %q; this version reads %q", ErrVersion, data[:len(magic)], magic)
	}
	end := len(data) - crcSize
	if binary.LittleEndian.Uint32(data[end:]) != checksum(data[:end]) {
		return nil, fmt.Errorf("%w: the checksum does not match", ErrCorrupt)
	}
	return &Reader{buf: data[:end], pos: len(magic)}, nil
}

// Zigzag maps numbers near zero of either sign to small numbers.
func Zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// Unzigzag is the inverse of [Zigzag].
func Unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// AppendBytes appends the length of bytes, then the bytes.
func AppendBytes(b, p []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(p))), p...) }

// AppendRuns appends a column of n numbers as runs of equal differences.
func AppendRuns(buf []byte, n int, value func(int) int64) []byte {
	prev := int64(0)
	for i := 0; i < n; {
		first := value(i)
		delta, last := first-prev, first
		run := 1
		for i+run < n && value(i+run)-last == delta {
			last = value(i + run)
			run++
		}
		buf = binary.AppendUvarint(buf, Zigzag(delta))
		buf = binary.AppendUvarint(buf, uint64(run))
		prev = last
		i += run
	}
	return buf
}

// Reader decodes an encoding. After the first fault every read returns zero, so callers check Err once per section.
type Reader struct {
	buf []byte
	pos int
	err error
}

// Fail records a fault, unless one is recorded already.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrCorrupt, r.pos, fmt.Sprintf(format, args...))
	}
}

// Left returns the number of unread bytes.
func (r *Reader) Left() int { return len(r.buf) - r.pos }

// Uvarint reads one number in its shortest form, so that each value has exactly one encoding.
func (r *Reader) Uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	if r.pos < len(r.buf) && r.buf[r.pos] < 0x80 {
		r.pos++
		return uint64(r.buf[r.pos-1])
	}
	v, n := binary.Uvarint(r.buf[r.pos:])
	if n <= 0 || r.buf[r.pos+n-1] == 0 {
		r.Fail("a number is malformed")
		return 0
	}
	r.pos += n
	return v
}

// Count reads a number of at most limit.
func (r *Reader) Count(limit int, what string) int {
	v := r.Uvarint()
	if limit < 0 || v > uint64(limit) {
		r.Fail("%d %s; at most %d are possible here", v, what, max(limit, 0))
		return 0
	}
	return int(v)
}

// Byte reads one byte below limit.
func (r *Reader) Byte(limit uint8, what string) uint8 {
	if r.err == nil && r.Left() == 0 {
		r.Fail("the end is missing")
	}
	if r.err != nil {
		return 0
	}
	v := r.buf[r.pos]
	if v >= limit {
		r.Fail("%d is no %s", v, what)
		return 0
	}
	r.pos++
	return v
}

// Take limits the capacity, so that append cannot overwrite later bytes.
func (r *Reader) Take(n int) []byte {
	if r.err == nil && n > r.Left() {
		r.Fail("the end is missing")
	}
	if r.err != nil {
		return nil
	}
	p := r.buf[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return p
}

// Bytes is the inverse of [AppendBytes].
func (r *Reader) Bytes(what string) []byte { return r.Take(r.Count(r.Left(), "bytes of "+what)) }

// Runs is the inverse of AppendRuns for values in [low, high].
func (r *Reader) Runs(n int, low, high int64, set func(i int, v int64)) {
	value, before := int64(0), int64(0)
	for i := 0; i < n && r.err == nil; {
		delta := Unzigzag(r.Uvarint())
		run := r.Count(n-i, "values in a run")
		if r.err != nil {
			return
		}
		if run == 0 || (i > 0 && delta == before) {
			r.Fail("a run is not in its shortest form")
			return
		}
		before = delta
		// The first and the last value bound the run; both sums fit because values do.
		if delta > math.MaxInt32*2 || delta < math.MinInt32*2 ||
			!within(value+delta, low, high) || !within(value+delta*int64(run), low, high) {
			r.Fail("a value is out of range")
			return
		}
		for range run {
			value += delta
			set(i, value)
			i++
		}
	}
}

func within(v, low, high int64) bool { return v >= low && v <= high }

// End requires that all bytes were read.
func (r *Reader) End() error {
	if r.err == nil && r.Left() != 0 {
		r.Fail("%d bytes too many", r.Left())
	}
	return r.err
}

// Int32 is the inverse of [Zigzag] with a number read by Uvarint.
func (r *Reader) Int32() int32 {
	v := Unzigzag(r.Uvarint())
	if v != int64(int32(v)) {
		r.Fail("a number is out of range")
	}
	return int32(v)
}

// Err returns the first fault, or nil.
func (r *Reader) Err() error { return r.err }
