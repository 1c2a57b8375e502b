package jobtype_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func TestPermanent(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such volume")
	marked := fmt.Errorf("vacuum: %w", jobtype.Permanent(cause))
	assert.True(t, jobtype.IsPermanent(marked))
	require.ErrorIs(t, marked, cause)
	assert.Equal(t, "vacuum: no such volume", marked.Error(), "the mark does not show")
	assert.True(t, jobtype.IsPermanent(errors.Join(errors.New("other"), marked)))
	assert.False(t, jobtype.IsPermanent(cause))
	assert.False(t, jobtype.IsPermanent(nil))
	assert.NoError(t, jobtype.Permanent(nil))
}

func TestValidateName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "0", "node-a", "compress_logs", strings.Repeat("a", jobtype.MaxNameLength)} {
		assert.NoError(t, jobtype.ValidateName(good), good)
	}
	for _, bad := range []string{"", "-a", "_a", "Node", "a b", "a/b", "a\n", "é", strings.Repeat("a", jobtype.MaxNameLength+1)} {
		assert.ErrorContains(t, jobtype.ValidateName(bad), "must start with a-z or 0-9", bad)
	}
}

func TestDescriptorValidate(t *testing.T) {
	t.Parallel()
	good := jobtype.Descriptor{Name: "vacuum", Params: json.RawMessage(`{"type":"object"}`)}
	require.NoError(t, good.Validate())

	bad := jobtype.Descriptor{
		Name: "Vacuum!", Params: json.RawMessage(`"object"`), DetectSettings: json.RawMessage(`{`), ExecuteSettings: json.RawMessage(`true`),
		DefaultPolicy: jobtype.Policy{Liveness: "pulse"}, MaxDetectConcurrency: -1, ExecuteOnly: true, DetectOnly: true,
	}
	err := bad.Validate()
	for _, want := range []string{
		`descriptor of handler "Vacuum!"`, "name:", "params: a JSON Schema", "detect_settings:", "execute_settings:",
		"default_policy: liveness", "max_detect_concurrency", "exclude each other",
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestOverlayParams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, want string }{
		{``, ``, `{}`},
		{`null`, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":2}`, ``, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"b":3,"c":4}`, `{"a":1,"b":3,"c":4}`},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"x":3}}`, `{"a":{"x":3}}`},
		{`{"a":1}`, `{"a":null}`, `{"a":null}`},
		{`{"n":12345678901234567890}`, ``, `{"n":12345678901234567890}`},
	} {
		got, err := jobtype.OverlayParams(json.RawMessage(c.base), json.RawMessage(c.over))
		require.NoError(t, err)
		assert.Equal(t, c.want, string(got), "numbers keep every digit, keys are sorted")
	}
	_, err := jobtype.OverlayParams(json.RawMessage(`[]`), nil)
	require.ErrorContains(t, err, "params of the job type must be a JSON object")
	_, err = jobtype.OverlayParams(nil, json.RawMessage(`3`))
	require.ErrorContains(t, err, "params of the proposal must be a JSON object")
}

func TestWireTypesRoundTrip(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	raw := json.RawMessage(`{"a":1}`)
	roundTrip(t, jobtype.Job{
		ID: "job-00001", GroupID: "group/x", JobType: "x", DedupeKey: "k", Summary: "s", Detail: "d", Labels: map[string]string{"a": "b"},
		Params: raw, Settings: raw, Cluster: raw, Attempt: 2, Fence: 7, Checkpoint: raw, WorkerID: "node-a", Deadline: at,
	})
	roundTrip(t, jobtype.DetectInput{
		JobType: "x", Cluster: raw, Params: raw, Settings: raw, LastSuccess: at, Sequence: 3, MaxResults: 10, DryRun: true, WorkerID: "node-a",
	})
	roundTrip(t, jobtype.Descriptor{
		Name: "x", Help: "h", Params: raw, DetectSettings: raw, ExecuteSettings: raw, DefaultPolicy: jobtype.Policy{RetryLimit: 3},
		MaxDetectConcurrency: 1, MaxExecuteConcurrency: 2, ExecuteOnly: true,
	})
	roundTrip(t, jobtype.Result{Summary: "s", Output: "o", Data: map[string]any{"a": "b"}})
}

func roundTrip[T any](t *testing.T, want T) {
	t.Helper()
	encoded, err := json.Marshal(want)
	require.NoError(t, err)
	var got T
	require.NoError(t, json.Unmarshal(encoded, &got))
	assert.Equal(t, want, got)
}

// The run decodes a result before later tasks read it: an id or a time in nanoseconds must not change.
func TestResultsKeepIntegers(t *testing.T) {
	t.Parallel()
	written := `{"data":{"exp":1e21,"float":0.5,"id":9007199254740993,"ids":[1764530000123456789,1],"nested":{"max":18446744073709551615},"one":1.0}}`
	var result jobtype.Result
	require.NoError(t, json.Unmarshal([]byte(written), &result))
	encoded, err := json.Marshal(result)
	require.NoError(t, err)
	assert.Equal(t, `{"data":{"exp":1e+21,"float":0.5,"id":9007199254740993,"ids":[1764530000123456789,1],"nested":{"max":18446744073709551615},"one":1}}`, string(encoded)) //nolint:testifylint // JSONEq would round the integers.
	assert.Equal(t, []any{json.Number("1764530000123456789"), float64(1)}, result.Data["ids"])
	require.Error(t, json.Unmarshal([]byte(`{"summary": 1}`), &result))
}
