package delta_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/delta"
)

func none([]byte) bool { return false }

// applied applies the steps as a reader does.
func applied(t *testing.T, before string, steps []byte) string {
	t.Helper()
	var all []json.RawMessage
	require.NoError(t, json.Unmarshal(steps, &all))
	pieces := strings.Split(before, ",")
	var parts []string
	for _, step := range all {
		var text string
		if json.Unmarshal(step, &text) != nil {
			var place [2]int
			require.NoError(t, json.Unmarshal(step, &place))
			text = strings.Join(pieces[place[0]:place[0]+place[1]], ",")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

func rows(n int) []string {
	var all []string
	for i := range n {
		all = append(all, `{"name":"type-`+strconv.Itoa(i)+`","state":"ready","paused":false,"next":"ü,`+strconv.Itoa(i*7)+`"}`)
	}
	return all
}

func text(all []string) string { return `{"rows":[` + strings.Join(all, ",") + `],"total":9}` }

func TestOneRowOfMany(t *testing.T) {
	before, after := rows(500), rows(500)
	after[317] = strings.Replace(after[317], "ready", "running", 1)
	steps := delta.Of([]byte(text(before)), []byte(text(after)), none)
	assert.Less(t, len(steps), 60, "%s", steps)
	assert.Equal(t, text(after), applied(t, text(before), steps))
}

func TestANewRowInFront(t *testing.T) {
	before := rows(50)
	after := append([]string{`{"name":"new","state":"failed"}`}, before[:49]...)
	steps := delta.Of([]byte(text(before)), []byte(text(after)), none)
	assert.Less(t, len(steps), 120, "%s", steps)
	assert.Equal(t, text(after), applied(t, text(before), steps))
}

func TestItsOwnPiecesAreNotCopied(t *testing.T) {
	before := `{"as_of":"1",` + text(rows(9))[1:]
	steps := delta.Of([]byte(before), []byte(before), func(piece []byte) bool { return bytes.Contains(piece, []byte("as_of")) })
	assert.Contains(t, string(steps), "as_of")
	assert.Equal(t, before, applied(t, before, steps))
}

func TestNothingInCommon(t *testing.T) {
	assert.Nil(t, delta.Of([]byte(`{"a":1}`), []byte(`{"b":2}`), none))
	assert.Nil(t, delta.Of(nil, []byte("x"), none))
}

func TestAnyTwoTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		before, after := rows(random.IntN(30)), rows(random.IntN(30))
		random.Shuffle(len(after), func(i, j int) {
			if random.IntN(3) == 0 {
				after[i], after[j] = after[j], after[i]
			}
		})
		if steps := delta.Of([]byte(text(before)), []byte(text(after)), none); steps != nil {
			require.Equal(t, text(after), applied(t, text(before), steps))
			require.Less(t, len(steps), len(text(after)))
		}
	}
}
