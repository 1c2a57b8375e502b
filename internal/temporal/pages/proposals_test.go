package pages_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
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

// TestASlowPageIsAskedForOnce: the history behind it is read all the same.
func TestASlowPageIsAskedForOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	read := pages.ProposalReader(t.Context(), func(ctx context.Context, _, _ string) ([]byte, error) {
		asked++
		<-ctx.Done()
		return nil, ctx.Err()
	}, "group/x", time.Millisecond)
	for _, page := range []string{"p", "q"} {
		_, err := read(contract.ProposalRef{Page: page})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	assert.Equal(t, 1, asked)
}
