package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Each part is preceded by its length, so different tasks have different bytes.
type fingerprint struct {
	h   hash.Hash
	buf [8]byte
}

func newFingerprint(id string, a Attr, payload, args []byte) *fingerprint {
	f := &fingerprint{h: sha256.New()}
	f.part([]byte(id))
	f.part([]byte{byte(a)})
	f.optional(payload)
	f.optional(args)
	return f
}

func (f *fingerprint) need(id string) { f.part([]byte(id)) }

func (f *fingerprint) optional(p []byte) {
	if p == nil {
		f.part([]byte{0})
		return
	}
	f.part([]byte{1})
	f.part(p)
}

func (f *fingerprint) part(p []byte) {
	binary.LittleEndian.PutUint64(f.buf[:], uint64(len(p)))
	f.h.Write(f.buf[:])
	f.h.Write(p)
}

func (f *fingerprint) sum() [32]byte { return [32]byte(f.h.Sum(nil)) }
