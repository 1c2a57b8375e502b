package jsonout_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/jsonout"
)

// Part is embedded by a pointer.
type Part struct {
	Names []string          `json:"names"`
	By    map[string][]int  `json:"by"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
	Gone  []string          `json:"gone,omitempty"`
	Zero  map[string]string `json:"zero,omitzero"`
	Skip  []string          `json:"-"`
	At    time.Time         `json:"at,omitzero"`
	Inner *Part             `json:"inner,omitempty"`
	Any   any               `json:"any,omitempty"`
}

type embedded struct {
	Deep []Part `json:"deep"`
}

type whole struct {
	embedded
	*Part
	Parts [1]Part          `json:"parts"`
	Of    map[string]*Part `json:"of"`
	None  *Part            `json:"none"`
	text  []string
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	shared := []Part{{Inner: &Part{}, Any: []Part(nil)}}
	value := whole{embedded: embedded{Deep: shared}, Part: &Part{Names: []string{"<a>"}}, Of: map[string]*Part{"x": {By: map[string][]int{"y": nil}}}}
	text, err := jsonout.JSON(value, "")
	require.NoError(t, err)
	empty := `{"names":[],"by":{}}`
	assert.Equal(t, `{"deep":[{"names":[],"by":{},"inner":`+empty+`,"any":[]}],"names":["<a>"],"by":{},"parts":[`+empty+
		`],"of":{"x":{"names":[],"by":{"y":[]}}},"none":null}`+"\n", string(text))
	assert.Nil(t, shared[0].Names, "what was given is as it was")
	assert.Nil(t, shared[0].Inner.Names)
	assert.Nil(t, value.text)
	assert.Nil(t, value.Of["x"].By["y"])
}

func TestPlainValues(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"null": nil, "[]": []string(nil), "{}": map[string]int(nil), "7": 7, `"2026-01-01T00:00:00Z"`: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		`{"removed":[]}`: map[string]any{"removed": []string(nil)}, `{"a":1}`: json.RawMessage(`{"a":1}`),
	} {
		text, err := jsonout.JSON(value, "")
		require.NoError(t, err)
		assert.Equal(t, want+"\n", string(text))
	}
	text, err := jsonout.JSON(map[string]any{"a": []int{1}}, "  ")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n  \"a\": [\n    1\n")
	_, err = jsonout.JSON(make(chan int), "")
	assert.Error(t, err)
}
