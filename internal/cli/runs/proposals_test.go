package runs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
)

func TestProposalsAreReadAlikeFromAllForms(t *testing.T) {
	t.Parallel()
	want := []jobtype.Proposal{
		{DedupeKey: "a", Params: []byte(`{"n":1}`), EstimatedRuntime: jobtype.Duration(5 * time.Minute)},
		{Exclusive: []string{"volume/1"}, NotBefore: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)},
	}
	first, second := `{"dedupe_key":"a","params":{"n":1},"estimated_runtime":"5m"}`, `{"exclusive":["volume/1"],"not_before":"2026-11-20T09:00:00Z"}`
	for name, text := range map[string]string{
		"lines": first + "\n" + second + "\n", "list": "[" + first + "," + second + "]",
		"yaml": "- dedupe_key: a\n  params: {n: 1}\n  estimated_runtime: 5m\n- exclusive: [volume/1]\n  not_before: 2026-11-20T09:00:00Z\n",
	} {
		got, err := readProposals(strings.NewReader(text), ui.StdinName)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

// YAML keeps dates as text and all digits of a number, as in a configuration.
func TestParamsOfYAMLAreThoseOfAConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"day: 2026-11-20\nserial: 123456789012345678901\n": `{"day":"2026-11-20","serial":123456789012345678901}`,
		"{day: 2026-11-20}":                 `{"day":"2026-11-20"}`,
		`{"serial":123456789012345678901}`:  `{"serial":123456789012345678901}`,
		"a: &x {b: 1}\nc: {<<: *x, d: 2}\n": `{"a":{"b":1},"c":{"b":1,"d":2}}`,
	} {
		got, err := toJSON([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, string(got), text)
	}
	for text, want := range map[string]string{
		"# none\n": "the file is empty", "a: [": "line 1", "a: .inf\n": "JSON has no such number", "a: 1\na: 2\n": "line 2",
	} {
		_, err := toJSON([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}
