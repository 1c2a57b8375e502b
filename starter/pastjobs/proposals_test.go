package pastjobs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/temporal/pages"
)

// lost has no page.
type lost struct{}

func (lost) Get(context.Context, string, string) ([]byte, error) { return nil, pages.ErrLost }

// ranged is an ended run of which 3 jobs of a page ended at once.
func ranged() Run {
	book := record.NewBook()
	book.Add(record.Job{N: 2, More: 2, State: contract.JobCanceled})
	return Run{ID: "r", Pages: lost{}, Held: None, Record: &contract.ItemRecord{
		Rest: book.Rest(), Proposals: []contract.ProposalTable{{Page: "p", First: 2, Last: 4}},
	}}
}

// TestALostPageFailsNoList, but a retry needs it.
func TestALostPageFailsNoList(t *testing.T) {
	t.Parallel()
	views, total, err := List(t.Context(), ranged(), Filter{Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, 3, total)
	assert.Len(t, views, 3)
	_, _, err = List(t.Context(), ranged(), Filter{Limit: 10, Work: true})
	require.ErrorIs(t, err, pages.ErrLost)
}

// TestAMapHasAllJobsOfARange.
func TestAMapHasAllJobsOfARange(t *testing.T) {
	t.Parallel()
	jobs, err := Map(t.Context(), ranged(), contract.JobsQueryResult{})
	require.NoError(t, err)
	assert.Equal(t, contract.MarkJobs(nil, 2, 4, contract.JobCanceled), jobs)
}
