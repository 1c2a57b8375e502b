package ui

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJQ(t *testing.T) {
	t.Parallel()
	value := map[string]any{"runs": []map[string]any{{"id": "a", "seq": int64(9007199254740993), "took": 1.5}, {"id": "b\x1b[2J", "seq": 2}}}
	for expression, want := range map[string]string{
		".runs[0].id":             "a\n",
		".runs[].seq":             "9007199254740993\n2\n",
		".runs[0]":                `{"id":"a","seq":9007199254740993,"took":1.5}` + "\n",
		".runs | length":          "2\n",
		".none":                   "null\n",
		"empty":                   "",
		`.runs[] | "\(.id)"`:      "a\nb [2J\n",
		".runs[0].id, halt, 1":    "a\n",
		".runs | map(.seq) | add": "9007199254740995\n",
	} {
		var out bytes.Buffer
		p := &Program{Env: Env{Stdout: &out}}
		require.NoError(t, p.answerJQ(t.Context(), expression, value), expression)
		assert.Equal(t, want, out.String(), expression)
	}
	for _, expression := range []string{".runs[", "nothing(1)"} {
		_, err := compileJQ(expression)
		assert.ErrorContains(t, err, "--jq: ", expression)
	}
	err := (&Program{}).answerJQ(t.Context(), ".runs.id", value)
	assert.ErrorContains(t, err, "--jq: expected an object")
}
