package chunks

import (
	"encoding/binary"
	"errors"

	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// packed is a job of the window to which nothing has happened but that its key was read or claimed.
type packed struct {
	number, queue int
	// chunk is 0 if the claim is not that of a chunk, or has no answer.
	chunk int
	// hash is that of the key; 0 if it was not read.
	hash uint64
}

var errDamaged = errors.New("the state of the claims is damaged")

// Pack encodes jobs in the order of their numbers.
func Pack(jobs []*openjobs.Job) []byte {
	var out []byte
	last := 0
	for _, j := range jobs {
		out = binary.AppendUvarint(out, uint64(j.N-last))
		out = binary.AppendUvarint(out, uint64(j.Queue))
		out = binary.AppendUvarint(out, uint64(j.Chunk))
		out = binary.BigEndian.AppendUint64(out, j.Hash)
		last = j.N
	}
	return out
}

func unpack(in []byte) ([]packed, error) {
	var jobs []packed
	last := 0
	for len(in) > 0 {
		var fields [3]int
		for i := range fields {
			value, n := binary.Uvarint(in)
			if n <= 0 || value > 1<<31 {
				return nil, errDamaged
			}
			fields[i], in = int(value), in[n:]
		}
		if len(in) < 8 || fields[0] == 0 {
			return nil, errDamaged
		}
		last += fields[0]
		jobs = append(jobs, packed{number: last, queue: fields[1], chunk: fields[2], hash: binary.BigEndian.Uint64(in)})
		in = in[8:]
	}
	return jobs, nil
}
