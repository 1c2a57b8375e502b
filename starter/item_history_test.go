package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
)

// A lost worker gets another attempt and does not take it.
func TestTheTimesAreOfTheLastAttemptThatWasTaken(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	history := ItemHistory{Attempts: []Attempt{{StartedAt: at(1), EndedAt: at(2)}, {StartedAt: at(3), EndedAt: at(8)}, {EndedAt: at(9)}}}
	failed := Item{State: dag.Failed.String()}.with(history)
	assert.Equal(t, []time.Time{at(3), at(9)}, []time.Time{failed.StartedAt, failed.EndedAt})
	known := Item{State: dag.Running.String(), StartedAt: at(5)}.with(history)
	assert.Equal(t, []time.Time{at(5), {}}, []time.Time{known.StartedAt, known.EndedAt})
	never := Item{State: dag.Failed.String()}.with(ItemHistory{Attempts: []Attempt{{EndedAt: at(9)}}})
	assert.True(t, never.StartedAt.IsZero())
}

// TestASlowPageIsAskedForOnce: the history behind it is read all the same.
func TestASlowPageIsAskedForOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	read := proposalReader(t.Context(), func(ctx context.Context, _, _ string) ([]byte, error) {
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
