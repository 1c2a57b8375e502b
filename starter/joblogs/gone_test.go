package joblogs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
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
