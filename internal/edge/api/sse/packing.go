package sse

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// Each flater has 600 kB, and a stream needs one only for the length of an event.
var flaters = sync.Pool{New: func() any { //nolint:gochecknoglobals // shared by all streams
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // The level is valid.
	}
	return w
}}

const keptBuffer = 64 << 10

type packing struct {
	buffer bytes.Buffer
	begun  bool
	sum    uint32
	size   uint32
}

// The parts are valid until the next call.
func (p *packing) packed(parts [][]byte) [][]byte {
	if p.buffer.Cap() > keptBuffer {
		p.buffer = bytes.Buffer{}
	}
	p.buffer.Reset()
	if !p.begun {
		p.begun = true
		p.buffer.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) // RFC 1952: deflate, no name, no time.
	}
	w, _ := flaters.Get().(*flate.Writer)
	defer flaters.Put(w)
	w.Reset(&p.buffer)
	for _, part := range parts {
		p.sum = crc32.Update(p.sum, crc32.IEEETable, part)
		p.size += uint32(len(part)) //nolint:gosec // RFC 1952: the size modulo 2^32.
		_, _ = w.Write(part)        // A buffer takes everything.
	}
	_ = w.Flush()
	return [][]byte{p.buffer.Bytes()}
}

func (p *packing) end() []byte {
	last := []byte{1, 0, 0, 0xff, 0xff} // An empty stored block, the last one.
	last = binary.LittleEndian.AppendUint32(last, p.sum)
	return binary.LittleEndian.AppendUint32(last, p.size)
}
