package openjobs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// TestLongTextsAreNoJSON: the texts of jobs are not in the document of a state, and come back.
func TestLongTextsAreNoJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.Repeat(rapid.StringN(0, 4, -1).Draw(t, name), rapid.SampledFrom([]int{0, 1, 50, 5000}).Draw(t, "times"))
		}
		var jobs []*openjobs.Job
		for i := range rapid.IntRange(0, 300).Draw(t, "jobs") {
			p := jobtype.Proposal{DedupeKey: "a key", DAG: text("dag"), Detail: text("detail")}
			if params := text("params"); params != "" {
				p.Params = json.RawMessage(`"` + strings.Repeat("x", len(params)) + `"`)
			}
			jobs = append(jobs, &openjobs.Job{N: i + 1, Work: proposed.Work{Proposal: p}})
		}
		short, size := openjobs.Shorten(jobs)
		texts := openjobs.AppendTexts(nil, jobs)
		require.Len(t, texts, size)
		document, err := json.Marshal(short)
		require.NoError(t, err)
		require.LessOrEqual(t, len(document), 10+len(jobs)*4000)

		var read []*openjobs.Job
		require.NoError(t, json.Unmarshal(document, &read))
		require.NoError(t, openjobs.TakeTexts(read, texts))
		for i, j := range jobs {
			require.Equal(t, j, read[i])
		}
		if size > 0 {
			require.NoError(t, json.Unmarshal(document, &read))
			require.ErrorIs(t, openjobs.TakeTexts(read, texts[:size-1]), openjobs.ErrTexts)
		}
		_ = openjobs.TakeTexts(read, rapid.SliceOf(rapid.Byte()).Draw(t, "noise"))
	})
	assert.ErrorIs(t, openjobs.TakeTexts([]*openjobs.Job{nil}, []byte{0, 0, 0, 0}), openjobs.ErrTexts)
}
