package mergepatch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/mergepatch"
)

// The cases of RFC 7396, appendix A, whose patch is an object, and the order of keys.
func TestOver(t *testing.T) {
	t.Parallel()
	for _, row := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"z":1,"y":2,"x":12345678901234567890}`, `{"y":3}`, `{"z":1,"y":3,"x":12345678901234567890}`},
	} {
		got, err := mergepatch.Over(json.RawMessage(row[0]), json.RawMessage(row[1]))
		require.NoError(t, err)
		assert.Equal(t, row[2], string(got), "%s with %s", row[0], row[1])
	}
	for _, patch := range []string{`[]`, `1`, `null`, `{`, `{"a":}`, ``} {
		_, err := mergepatch.Over(json.RawMessage(`{}`), json.RawMessage(patch))
		assert.Error(t, err, patch)
	}
}

func TestLargePatchesAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)
	_, err := mergepatch.Over(json.RawMessage("{}"), json.RawMessage(deep))
	assert.ErrorContains(t, err, "nested deeper than 64 objects: send a document instead")
	var wide strings.Builder
	for i := range 5001 {
		fmt.Fprintf(&wide, `,"k%d":1`, i)
	}
	_, err = mergepatch.Over(json.RawMessage("{}"), json.RawMessage("{"+wide.String()[1:]+"}"))
	assert.ErrorContains(t, err, "more than 5000 keys in one object: send a document instead")
}
