package chunks

import (
	"encoding/binary"
	"errors"

	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// packed is a job of the window to which nothing has happened but that its key was read or claimed.
type packed struct {
	number, queue int
	// chunk is 0 for a claim without a chunk, or without an answer.
	chunk int
	// hash is the hash of the key; 0 if it was not read.
	hash uint64
}

var errDamaged = errors.New("the state of the claims is damaged")

// Pack encodes jobs in the order of their numbers, field by field: the hashes do not shrink, the other fields do.
func Pack(jobs []*openjobs.Job) []byte {
	if len(jobs) == 0 {
		return nil
	}
	out := binary.AppendUvarint(nil, uint64(len(jobs)))
	last := 0
	for _, j := range jobs {
		out = binary.AppendUvarint(out, uint64(j.N-last))
		last = j.N
	}
	for _, j := range jobs {
		out = binary.AppendUvarint(out, uint64(j.Queue))
	}
	for _, j := range jobs {
		out = binary.AppendUvarint(out, uint64(j.Chunk))
	}
	for _, j := range jobs {
		out = binary.BigEndian.AppendUint64(out, j.Hash)
	}
	return out
}

func unpack(in []byte) ([]packed, error) {
	if len(in) == 0 {
		return nil, nil
	}
	count, in, err := next(in)
	if err != nil || count > len(in)/8 {
		return nil, errDamaged
	}
	jobs, last := make([]packed, count), 0
	for _, field := range []func(*packed) *int{
		func(j *packed) *int { return &j.number }, func(j *packed) *int { return &j.queue }, func(j *packed) *int { return &j.chunk },
	} {
		for i := range jobs {
			if *field(&jobs[i]), in, err = next(in); err != nil {
				return nil, err
			}
		}
	}
	if len(in) != 8*count {
		return nil, errDamaged
	}
	for i := range jobs {
		if jobs[i].number == 0 {
			return nil, errDamaged
		}
		last += jobs[i].number
		jobs[i].number, jobs[i].hash = last, binary.BigEndian.Uint64(in[8*i:])
	}
	return jobs, nil
}

func next(in []byte) (value int, rest []byte, err error) {
	read, n := binary.Uvarint(in)
	if n <= 0 || read > 1<<31 {
		return 0, nil, errDamaged
	}
	return int(read), in[n:], nil
}
