package command

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// CountAtMost makes the handler stop a program after a smaller surplus than [New] does.
func (h *Handler) CountAtMost(surplus int) *Handler {
	h.maxSurplus = surplus
	return h
}

// fullSink takes nothing more.
type fullSink struct{ jobtype.ProposalSink }

func (fullSink) Emit(context.Context, ...jobtype.Proposal) error { return jobtype.ErrSinkFull }

func TestTenMillionProposalsTooManyAreCounted(t *testing.T) {
	t.Parallel()
	p := proposals{format: formatJSON, sink: fullSink{}, most: New(Options{}).maxSurplus, full: true, surplus: 10_000_000 - 150}
	require.ErrorIs(t, p.read(t.Context(), strings.NewReader(strings.Repeat("{}\n", 1000))), errEnough)
	assert.Equal(t, 10_000_050, p.surplus, "two pages of 100")

	p = proposals{format: formatJSON, sink: fullSink{}, most: New(Options{}).maxSurplus, full: true, surplus: 10_000_000 - 150}
	require.NoError(t, p.read(t.Context(), strings.NewReader(strings.Repeat("{}\n", 149))))
	assert.Equal(t, 10_000_000-1, p.surplus)
}
