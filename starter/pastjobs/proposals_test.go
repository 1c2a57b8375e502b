package pastjobs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// lost has no page.
type lost struct{}

func (lost) Get(context.Context, string, string) ([]byte, error) { return nil, pages.ErrLost }

// ranged is an ended run with three jobs of a page that ended at once.
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

// packed has pages of proposals by name; the others are lost.
type packed map[string][]jobtype.Proposal

func (p packed) Get(_ context.Context, _, page string) ([]byte, error) {
	list, known := p[page]
	if !known {
		return nil, pages.ErrLost
	}
	return pages.PackProposals(list)
}

// TestAJobIsFoundByAKeyThatOnlyItsPageHas, also if another page is lost. A group with open jobs is queried for the job by its number.
func TestAJobIsFoundByAKeyThatOnlyItsPageHas(t *testing.T) {
	t.Parallel()
	book := record.NewBook()
	book.Add(record.Job{N: 2, More: 3, State: contract.JobCanceled})
	run := Run{ID: "r", Held: None, Record: &contract.ItemRecord{Rest: book.Rest(), Proposals: []contract.ProposalTable{
		{Page: "lost", First: 1, Last: 1}, {Page: "p", First: 2, Last: 4}, {Page: "q", First: 5, Last: 5},
	}}}
	run.Pages = packed{"p": {{DedupeKey: "a"}, {DedupeKey: "b", Summary: "the second"}, {DedupeKey: "c"}, {DedupeKey: "surplus"}}, "q": {{DedupeKey: "e"}}}
	find := func(run Run, key string) []Job {
		views, total, err := List(t.Context(), run, Filter{Key: key, Limit: 10})
		require.NoError(t, err)
		assert.Len(t, views, total)
		return views
	}
	views := find(run, "b")
	require.Len(t, views, 1)
	assert.Equal(t, contract.JobID(3), views[0].JobID)
	assert.Equal(t, "b", views[0].DedupeKey)
	assert.Equal(t, "the second", views[0].Summary)
	assert.Equal(t, contract.JobCanceled, views[0].State)
	assert.Empty(t, find(run, "unknown"))
	assert.Empty(t, find(run, "surplus"), "its number is that of another job")

	open := run
	open.Record = nil
	open.Held = func(f Filter, _, _, _ int) (contract.JobsQueryResult, error) {
		result := contract.JobsQueryResult{Proposals: run.Record.Proposals}
		if f.Number == 4 && f.Key == "" {
			result.Jobs, result.Total = []contract.JobView{{JobID: contract.JobID(4), State: contract.JobPending}}, 1
		}
		return result, nil
	}
	views = find(open, "c")
	require.Len(t, views, 1)
	assert.Equal(t, "c", views[0].DedupeKey)
	assert.Equal(t, contract.JobPending, views[0].State)
	assert.Empty(t, find(open, "unknown"))
}

// TestWorkHasTheItemsOfBatches, also of completed ones: a retry leaves them out by their keys.
func TestWorkHasTheItemsOfBatches(t *testing.T) {
	t.Parallel()
	items := []jobtype.BatchItem{{DedupeKey: "a"}, {DedupeKey: "b"}}
	book := record.NewBook()
	book.Add(record.Job{N: 1, State: contract.JobCompleted, Items: items})
	run := Run{ID: "r", Held: None, Record: &contract.ItemRecord{Rest: book.Rest()}}
	for work, want := range map[bool][]jobtype.BatchItem{true: items, false: nil} {
		views, _, err := List(t.Context(), run, Filter{Limit: 10, Work: work})
		require.NoError(t, err)
		require.Len(t, views, 1)
		assert.Equal(t, want, views[0].Batch)
		assert.Empty(t, views[0].Work)
	}
}
