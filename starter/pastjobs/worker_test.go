package pastjobs

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
)

// counted has pages by name, and counts the reads.
type counted struct {
	pages map[string][]byte
	reads atomic.Int64
}

func (c *counted) Get(_ context.Context, _, page string) ([]byte, error) {
	c.reads.Add(1)
	return c.pages[page], nil
}

// recorded is an ended run of 50 pages of 100 jobs; each third ran on node-b, and page 40 on node-c.
func recorded() (*counted, Run) {
	pages, of := &counted{pages: map[string][]byte{}}, contract.ItemRecord{}
	for p := range 50 {
		book, name := record.NewBook(), fmt.Sprint(p)
		for i := range 100 {
			n, worker := p*100+i+1, "node-a"
			switch {
			case p == 40:
				worker = "node-c"
			case n%3 == 0:
				worker = "node-b"
			}
			book.Add(record.Job{N: n, State: contract.JobCompleted, Worker: worker})
		}
		pages.pages[name] = book.Rest()
		of.Pages = append(of.Pages, contract.RecordPage{Page: name, First: p*100 + 1, Last: p*100 + 100, States: map[string]int{contract.JobCompleted: 100}})
	}
	return pages, Run{ID: "r", Pages: pages, Held: None, Record: &of}
}

// TestJobsOfAWorker: all jobs of a worker are found, wherever they are. A search reads no more pages than it needs.
func TestJobsOfAWorker(t *testing.T) {
	t.Parallel()
	pages, run := recorded()
	views, total, err := List(t.Context(), run, Filter{Worker: "node-c", Limit: 7, Offset: 95})
	require.NoError(t, err)
	assert.Equal(t, 100, total)
	assert.Len(t, views, 5)
	assert.EqualValues(t, 50, pages.reads.Swap(0))

	views, _, err = List(t.Context(), run, Filter{Worker: "node-b", Limit: 20, First: true})
	require.NoError(t, err)
	require.Len(t, views, 20)
	for i, view := range views {
		assert.Equal(t, []string{contract.JobID(3 * (i + 1)), "node-b"}, []string{view.JobID, view.Worker})
	}
	assert.EqualValues(t, parallelReads, pages.reads.Swap(0))

	views, _, err = List(t.Context(), run, Filter{Worker: "node-b", States: []string{contract.JobFailed}, Limit: 20})
	require.NoError(t, err)
	assert.Empty(t, views)
	assert.Zero(t, pages.reads.Load(), "no page has a failed job")
}

// TestOtherListsReadOnePage: a list and a job by its number read one page, however many there are.
func TestOtherListsReadOnePage(t *testing.T) {
	t.Parallel()
	pages, run := recorded()
	for _, filter := range []Filter{{Offset: 4300, Limit: 50}, {Number: 4321, Limit: 50}, {States: []string{contract.JobCompleted}, Offset: 10, Limit: 50}} {
		views, _, err := List(t.Context(), run, filter)
		require.NoError(t, err)
		assert.NotEmpty(t, views)
		assert.EqualValues(t, 1, pages.reads.Swap(0), filter)
	}
}
