package command_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

func batchJob(t *testing.T, settings string, items ...string) jobtype.Job {
	t.Helper()
	var proposals []jobtype.Proposal
	for _, item := range items {
		params, err := json.Marshal(map[string]string{"item": item})
		require.NoError(t, err)
		proposals = append(proposals, jobtype.Proposal{DedupeKey: item, Params: params})
	}
	job, err := jobtypetest.BatchOf(jobtype.DetectInput{Params: []byte(`{"flag":"-x"}`)}, proposals, []byte(settings))
	require.NoError(t, err)
	return job
}

// TestExecuteBatch: one argument for each item, with any characters, and everything on the standard input.
func TestExecuteBatch(t *testing.T) {
	t.Parallel()
	handler := newHandler(0)
	require.True(t, handler.Descriptor().Batches)
	settings := `{"command":["sh","-c","echo $ROUNDSMAN_BATCH_SIZE \"[$ROUNDSMAN_DEDUPE_KEY]\"; cat; echo; printf '%s\\n' \"$@\"","sh",
		"{{.Params.flag}}","{{each}}--key={{.Item.Params.item}} {{.Item.Params.flag}}","{{len .Batch}}","{{(index .Params.items 0).dedupe_key}}"]}`
	done := jobtypetest.Execute(t.Context(), handler, batchJob(t, settings, "a", "b c; $(reboot)"))
	require.NoError(t, done.Err)
	assert.Equal(t, `2 []
{"flag":"-x","items":[{"dedupe_key":"a","params":{"flag":"-x","item":"a"}},{"dedupe_key":"b c; $(reboot)","params":{"flag":"-x","item":"b c; $(reboot)"}}]}
-x
--key=a -x
--key=b c; $(reboot) -x
2
a
`, done.Result.Output)
}

// TestExecuteEachWithoutBatch: the same arguments serve a job type that has no
// batches, and a batch of one.
func TestExecuteEachWithoutBatch(t *testing.T) {
	t.Parallel()
	handler := newHandler(0)
	settings := json.RawMessage(`{"command":["echo","{{each}}{{.Item.Params.item}}","{{each}}{{.Item.DedupeKey}}"]}`)
	job, err := jobtypetest.JobOf(jobtype.DetectInput{}, jobtype.Proposal{DedupeKey: "k", Params: []byte(`{"item":"a"}`)}, settings)
	require.NoError(t, err)
	for _, one := range []jobtype.Job{job, batchJob(t, string(settings), "a")} {
		done := jobtypetest.Execute(t.Context(), handler, one)
		require.NoError(t, done.Err)
		assert.Equal(t, "a "+one.DedupeKey+"\n", done.Result.Output)
	}
}

// TestExecuteSaysWhereTheItemsAre: the error names the items to an author who added batch: and kept the command.
func TestExecuteSaysWhereTheItemsAre(t *testing.T) {
	t.Parallel()
	done := jobtypetest.Execute(t.Context(), newHandler(0), batchJob(t, `{"command":["echo","{{.Params.item}}"]}`, "a"))
	require.ErrorContains(t, done.Err, "the items of a job are in {{each}}, .Batch and .Params.items")
	assert.True(t, jobtype.IsPermanent(done.Err))
}

func TestEachIsChecked(t *testing.T) {
	t.Parallel()
	handler := newHandler(0)
	detect := json.RawMessage(`{"command":["ls"]}`)
	for execute, want := range map[string]string{
		`{"command":["{{each}}{{.Item.Params.item}}"]}`:  "execute.command[0]: it names the program",
		`{"command":["rm","{{each}}{{.Itme}}"]}`:         "execute.command[1]: there is no .Itme here",
		`{"command":["rm","{{.Item.Params.item}}"]}`:     "execute.command[1]: there is no .Item here",
		`{"command":["rm","x{{each}}"]}`:                 `function "each" not defined`,
		`{"command":["rm"],"env":{"A":"{{each}}{{.}}"}}`: `function "each" not defined`,
	} {
		require.ErrorContains(t, handler.ValidateSettings(nil, detect, json.RawMessage(execute)), want, execute)
	}
	require.ErrorContains(t, handler.ValidateSettings(nil, json.RawMessage(`{"command":["ls","{{each}}x"]}`), json.RawMessage(`{"command":["rm"]}`)), `function "each" not defined`)
	require.NoError(t, handler.ValidateSettings(nil, detect, json.RawMessage(`{"command":["rm","{{range .Batch}}{{.DedupeKey}}{{end}}"]}`)))
}
