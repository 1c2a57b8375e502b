package joblogs

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestWhyAnOutputIsGone(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	old, fresh := began.Add(-time.Minute), began.Add(time.Minute)
	memory, files := contract.LogQueryResult{Since: began}, contract.LogQueryResult{Since: began, Files: true}
	for name, c := range map[string]struct {
		part    Part
		answer  contract.LogQueryResult
		started time.Time
		last    bool
		want    string
		note    string
	}{
		"killed, the run has not noticed":  {Part{From: FromNowhere}, memory, old, true, GoneProcess, "gone with its process: start the worker with --data-dir"},
		"killed before it printed":         {Part{From: FromNowhere}, files, old, true, GoneProcess, "gone with its process"},
		"restarted after the end":          {Part{From: FromResult, Ended: true}, memory, old, true, GoneProcess, "gone with its process"},
		"pruned":                           {Part{From: FromResult, Ended: true}, files, old, true, GoneKept, "output.keep"},
		"an earlier attempt was pruned":    {Part{From: FromNowhere, Ended: true}, files, old, false, GoneKept, "output.keep"},
		"forgotten without data directory": {Part{From: FromResult, Ended: true}, memory, fresh, true, GoneKept, "no data directory"},
		"printed nothing":                  {Part{From: FromNowhere, Ended: true}, files, fresh, true, GoneNothing, "printed nothing"},
		"runs in silence":                  {Part{From: FromNowhere}, files, fresh, true, "", "printed nothing yet"},
		"the worker is away":               {Part{From: FromNowhere, Gone: GoneSilent, Silent: "no answer"}, contract.LogQueryResult{}, old, true, GoneSilent, "no answer"},
	} {
		c.part.Worker, c.part.Attempt = "node-a", 1
		c.part.Gone = c.part.gone(c.answer, c.started, c.last)
		assert.Equal(t, c.want, c.part.Gone, name)
		assert.Contains(t, c.part.noted(c.answer.Files).Note, c.note, name)
	}
}

// TestAPartOfAResultBeginsWithAWholeCharacter, and parts one after another are the whole.
func TestAPartOfAResultBeginsWithAWholeCharacter(t *testing.T) {
	t.Parallel()
	output := strings.Repeat("aé€😀", 5)
	size := int64(len(output))
	for offset := -size - 3; offset <= size+3; offset++ {
		var part Part
		part.fromResult(output, offset)
		assert.True(t, utf8.ValidString(part.Text), "%d: %q", offset, part.Text)
		assert.True(t, strings.HasSuffix(output, part.Text))
		assert.Equal(t, size, part.Next)
		assert.Equal(t, part.Next, part.Offset+int64(len(part.Text)))
		wanted := offset
		if offset < 0 {
			wanted = max(0, size+offset)
		}
		assert.GreaterOrEqual(t, part.Offset, min(wanted, size))
		assert.Less(t, part.Offset, min(wanted, size)+utf8.UTFMax)
	}
	for _, offset := range []int64{math.MinInt64, math.MaxInt64} {
		var part Part
		part.fromResult(output, offset)
		assert.Equal(t, offset < 0, part.Text == output)
		part.fromResult("", offset)
		assert.Empty(t, part.Text)
	}
}

// TestTheResultOfALongOutputIsWhole: the offset of a follower counts bytes that the result does not have. It skipped as
// many of the end.
func TestTheResultOfALongOutputIsWhole(t *testing.T) {
	t.Parallel()
	output := strings.Repeat("x", jobtype.MaxOutputBytes)
	for _, offset := range []int64{0, 1, 10_000, 1 << 20} {
		var part Part
		part.fromResult(output, offset)
		assert.Equal(t, output, part.Text, offset)
		assert.Zero(t, part.Offset)
	}
	var part Part
	part.fromResult(output, -10)
	assert.Len(t, part.Text, 10)
}
