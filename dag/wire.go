package dag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// ErrCorrupt is wrapped by every error of [Decode] and [Restore] about bytes that
// are not what Encode or Snapshot wrote.
var ErrCorrupt = errors.New("dag: corrupt encoding")

// ErrVersion is wrapped when the bytes were written by an incompatible version.
var ErrVersion = errors.New("dag: unknown encoding version")

const crcSize = 4

func checksum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

func sealed(buf []byte) []byte { return binary.LittleEndian.AppendUint32(buf, checksum(buf)) }

// unseal checks magic and checksum and returns what lies between.
func unseal(data []byte, magic string) (*reader, error) {
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
	return &reader{buf: data[:end], pos: len(magic)}, nil
}

func zigzag(v int64) uint64          { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64        { return int64(u>>1) ^ -int64(u&1) }
func appendBytes(b, p []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(p))), p...) }

// appendRuns writes a column of n numbers as runs of equal differences: a
// constant and a counting column both take three bytes.
func appendRuns(buf []byte, n int, value func(int) int64) []byte {
	prev := int64(0)
	for i := 0; i < n; {
		first := value(i)
		delta, last := first-prev, first
		run := 1
		for i+run < n && value(i+run)-last == delta {
			last = value(i + run)
			run++
		}
		buf = binary.AppendUvarint(buf, zigzag(delta))
		buf = binary.AppendUvarint(buf, uint64(run))
		prev = last
		i += run
	}
	return buf
}

// reader takes an encoding apart. The first fault sticks; after it every read
// returns zero, so callers check err once per section.
type reader struct {
	buf []byte
	pos int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w at byte %d: %s", ErrCorrupt, r.pos, fmt.Sprintf(format, args...))
	}
}

func (r *reader) left() int { return len(r.buf) - r.pos }

// uvarint reads one number and insists on its shortest form, so that a value has
// one encoding only.
func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	if r.pos < len(r.buf) && r.buf[r.pos] < 0x80 {
		r.pos++
		return uint64(r.buf[r.pos-1])
	}
	v, n := binary.Uvarint(r.buf[r.pos:])
	if n <= 0 || r.buf[r.pos+n-1] == 0 {
		r.fail("a number is malformed")
		return 0
	}
	r.pos += n
	return v
}

// count reads a number that may be at most limit.
func (r *reader) count(limit int, what string) int {
	v := r.uvarint()
	if limit < 0 || v > uint64(limit) {
		r.fail("%d %s; at most %d are possible here", v, what, max(limit, 0))
		return 0
	}
	return int(v)
}

func (r *reader) byte(limit uint8, what string) uint8 {
	if r.err == nil && r.left() == 0 {
		r.fail("the end is missing")
	}
	if r.err != nil {
		return 0
	}
	v := r.buf[r.pos]
	if v >= limit {
		r.fail("%d is no %s", v, what)
		return 0
	}
	r.pos++
	return v
}

// take returns the next n bytes, capped so that appending cannot overwrite what follows.
func (r *reader) take(n int) []byte {
	if r.err == nil && n > r.left() {
		r.fail("the end is missing")
	}
	if r.err != nil {
		return nil
	}
	p := r.buf[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return p
}

func (r *reader) bytes(what string) []byte { return r.take(r.count(r.left(), "bytes of "+what)) }

// runs reads a column written by appendRuns, whose values lie in [low, high].
func (r *reader) runs(n int, low, high int64, set func(i int, v int64)) {
	value, before := int64(0), int64(0)
	for i := 0; i < n && r.err == nil; {
		delta := unzigzag(r.uvarint())
		run := r.count(n-i, "values in a run")
		if r.err != nil {
			return
		}
		if run == 0 || (i > 0 && delta == before) {
			r.fail("a run is not in its shortest form")
			return
		}
		before = delta
		// The first and the last value bound the run; both sums fit because values do.
		if delta > math.MaxInt32*2 || delta < math.MinInt32*2 ||
			!within(value+delta, low, high) || !within(value+delta*int64(run), low, high) {
			r.fail("a value is out of range")
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

// end insists that everything was read.
func (r *reader) end() error {
	if r.err == nil && r.left() != 0 {
		r.fail("%d bytes too many", r.left())
	}
	return r.err
}
