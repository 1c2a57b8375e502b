package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStandardInputHasOneReferencePerLine: a key may have spaces.
func TestStandardInputHasOneReferencePerLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"scrub:/srv/a b.bin", "fsck"}, linesOf("scrub:/srv/a b.bin\r\n\nfsck\n"))
}

func TestARunWithoutAnItemNamesTheNextStep(t *testing.T) {
	t.Parallel()
	for text, is := range map[string]string{"scrub": "names no job or task", "scrub@last": "is a run"} { // No such run may exist.
		_, err := Accepts{Items: true}.Resolve(t.Context(), nil, text)
		require.EqualError(t, err, text+" "+is+": this command takes RUN/ITEM; `roundsman jobs "+text+"` lists its items")
	}
	_, err := Accepts{Keys: true}.Resolve(t.Context(), nil, "scrub@last")
	require.EqualError(t, err, "scrub@last is a run: this command takes TYPE:KEY")
}
