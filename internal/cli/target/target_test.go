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
	for _, text := range []string{"scrub", "scrub@last"} {
		_, err := Accepts{Items: true}.Resolve(t.Context(), nil, text)
		require.EqualError(t, err, text+" is a run: this command takes RUN/ITEM; `roundsman jobs "+text+"` lists its items")
	}
	_, err := Accepts{Keys: true}.Resolve(t.Context(), nil, "scrub@last")
	require.EqualError(t, err, "scrub@last is a run: this command takes TYPE:KEY")
}
