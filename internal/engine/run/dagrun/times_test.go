package dagrun

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
)

func TestTimesSurviveTheState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.IntRange(1, 300).Draw(t, "tasks")
		var b, back book
		for i := range dag.Index(tasks) { //nolint:gosec // a small number
			if rapid.Bool().Draw(t, "ended") {
				begin := rapid.Int64Range(moved, 1<<40).Draw(t, "begin")
				if b.times == nil {
					b.times = map[dag.Index]span{}
				}
				b.times[i] = span{begin, max(begin, 0) + rapid.Int64Range(0, 1<<40).Draw(t, "took")}
			}
		}
		back.decodeTimes(b.encodeTimes(tasks), tasks)
		assert.Equal(t, b.times, back.times)
		back.decodeTimes(rapid.SliceOf(rapid.Byte()).Draw(t, "anything"), tasks)
	})
}
