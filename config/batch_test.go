package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func batching(batch string) string {
	return "version: 1\njob_types:\n  tidy:\n    handler: sweep\n    schedule: {every: 5m}\n    params: {dir: /srv}\n    batch: " + batch + "\n"
}

func TestBatch(t *testing.T) {
	t.Parallel()
	assert.Nil(t, mustLoad(t, minimal).JobTypes["tidy"].Batch)
	assert.Equal(t, &contract.BatchSpec{By: "all", MaxSize: 100}, mustLoad(t, batching("{by: all}")).JobTypes["tidy"].Batch)
	loaded := mustLoad(t, batching("{by: '{{.Labels.volume}}/{{dir .Params.item}}', max_size: 20}"))
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, &contract.BatchSpec{By: "{{.Labels.volume}}/{{dir .Params.item}}", MaxSize: 20}, specs[0].Batch)
	for _, output := range []string{"json", "yaml"} {
		printed, err := loaded.Format(output)
		require.NoError(t, err)
		assert.Equal(t, loaded.JobTypes["tidy"].Batch, mustLoad(t, string(printed)).JobTypes["tidy"].Batch)
	}
}

func TestBatchFaults(t *testing.T) {
	t.Parallel()
	for batch, want := range map[string]string{
		"{}":                              "r.yaml:7:12: job_types.tidy.batch.by: is missing",
		"{by: ''}":                        "batch.by: a template is missing",
		"{by: '{{.Labels.volume'}":        "r.yaml:7:17: job_types.tidy.batch.by: not a valid template: unclosed action",
		"{by: '{{.Label}}'}":              "batch.by: there is no .Label here; a template knows .Params, .DedupeKey",
		"{by: x, max_size: 101}":          "batch.max_size: 101 is out of range: use 1 to 100",
		"{by: x, max_size: 0}":            "batch.max_size: 0 is out of range",
		"{by: x, size: 3}":                "batch.size: unknown key",
		"{by: [x]}":                       "batch.by: is a list",
		"{by: '{{shell .Params.item}}' }": `function "shell" not defined`,
	} {
		_, err := load(batching(batch))
		require.Error(t, err, batch)
		assert.Contains(t, err.Error(), want, batch)
	}
	_, err := load(minimal + "    batch: {by: x}\n")
	require.ErrorContains(t, err, "handler plain does one proposal at a time")
	unknown := "version: 1\njob_types:\n  tidy: {handler: elsewhere, schedule: {every: 5m}, batch: {by: x}}\n"
	_, err = loadWith(unknown, func(o *config.Options) { o.AllowUnregistered = true })
	require.NoError(t, err, "nobody knows what the handler can do")
}

func TestCheckParams(t *testing.T) {
	t.Parallel()
	check := func(handler jobtype.Descriptor, params string) error {
		read, err := config.NewParamsCheck(handler)
		require.NoError(t, err)
		return read.Check([]byte(params))
	}
	require.NoError(t, check(sweep(), `{"dir":"/srv","depth":3}`))
	require.NoError(t, check(plainHandler(), `{"anything":1}`))
	_, err := config.NewParamsCheck(jobtype.Descriptor{Name: "odd", Params: []byte(`{"type":7}`)})
	require.ErrorContains(t, err, "the params schema of handler odd is broken")
	err = check(sweep(), `{"depth":10,"extra":1}`)
	require.Error(t, err)
	for _, part := range []string{"missing property 'dir'", "params.depth: ", "additional properties 'extra'"} {
		assert.Contains(t, err.Error(), part)
	}
}
