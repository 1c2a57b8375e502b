package chunks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// TestPackedJobsComeBack, and damaged ones do not.
func TestPackedJobsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var jobs []*openjobs.Job
		var want []packed
		number := 0
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			number += rapid.IntRange(1, 300).Draw(t, "distance")
			one := packed{number, rapid.IntRange(0, 9999).Draw(t, "queue"), rapid.IntRange(0, 1000).Draw(t, "chunk"), rapid.Uint64().Draw(t, "hash")}
			want = append(want, one)
			jobs = append(jobs, &openjobs.Job{N: one.number, Queue: one.queue, Chunk: one.chunk, Hash: one.hash})
		}
		data := Pack(jobs)
		found, err := unpack(data)
		require.NoError(t, err)
		require.Equal(t, want, found)
		if len(data) > 0 {
			_, err = unpack(data[:rapid.IntRange(1, len(data)-1).Draw(t, "cut")])
			require.ErrorIs(t, err, errDamaged)
			_, err = unpack(append(data, 0))
			require.ErrorIs(t, err, errDamaged)
		}
	})
	_, err := unpack([]byte{255, 255, 255, 255, 7, 1})
	assert.ErrorIs(t, err, errDamaged, "more jobs than bytes")
}
