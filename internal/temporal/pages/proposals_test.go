package pages_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAPageThatCannotBeDecodedIsLost: to read it again would not help.
func TestAPageThatCannotBeDecodedIsLost(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"not packed": []byte("?"), "not JSON": pack.Bytes([]byte("?"))} {
		_, err := pages.OpenProposals(data)
		require.ErrorIs(t, err, pages.ErrLost, name)
	}
	packed, err := pages.PackProposals([]jobtype.Proposal{{Summary: "s"}})
	require.NoError(t, err)
	list, err := pages.OpenProposals(packed)
	require.NoError(t, err)
	assert.Equal(t, "s", list[0].Summary)
}
