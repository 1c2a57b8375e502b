package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/jobtype"
)

func jobs() *rapid.Generator[record.Job] {
	moments := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "unset") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
	})
	return rapid.Custom(func(t *rapid.T) record.Job {
		j := record.Job{
			N: rapid.IntRange(1, 1e6).Draw(t, "n"), Attempt: rapid.IntRange(0, 100).Draw(t, "attempt"),
			State:  rapid.SampledFrom([]string{contract.JobCompleted, contract.JobCanceled, contract.JobFailed, ""}).Draw(t, "state"),
			Worker: rapid.SampledFrom([]string{"", "node-a", "node-b"}).Draw(t, "worker"), Error: rapid.String().Draw(t, "error"),
			Key: rapid.String().Draw(t, "key"), Summary: rapid.String().Draw(t, "summary"),
			Priority:  rapid.SampledFrom([]jobtype.Priority{"", jobtype.PriorityHigh}).Draw(t, "priority"),
			CreatedAt: rapid.SampledFrom([]time.Time{{}, time.Unix(7, 7).UTC(), time.Unix(9, 0).UTC()}).Draw(t, "created"),
			StartedAt: moments.Draw(t, "started"), EndedAt: moments.Draw(t, "ended"), Work: rapid.String().Draw(t, "work"),
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "items") {
			j.Items = append(j.Items, jobtype.BatchItem{DedupeKey: fmt.Sprint(i), Summary: rapid.String().Draw(t, "item")})
		}
		return j
	})
}

// TestTheBookKeepsEachJob against a plain list, over stores that fail, restarts and the
// end: each job is in one page or in the rest, in order, and the table counts it.
func TestTheBookKeepsEachJob(t *testing.T) {
	t.Parallel()
	at := time.Unix(1e9, 0)
	rapid.Check(t, func(t *rapid.T) {
		var want []record.Job
		pages, book := map[string][]byte{}, record.NewBook()
		store := func() {
			segment := book.Store(at)
			if segment == nil {
				return
			}
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				book.Failed(at)
				require.Nil(t, book.Store(at), "not at once")
				at = book.StoreAt()
				return
			}
			pages[contract.PageName(segment)] = slices.Clone(segment)
			book.Stored(contract.PageName(segment))
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				j := jobs().Draw(t, "job")
				want = append(want, j)
				book.Add(j)
			case 2: // A large one fills segments.
				j := jobs().Draw(t, "large")
				j.Error = strings.Repeat("x", rapid.IntRange(100<<10, 300<<10).Draw(t, "bytes"))
				want = append(want, j)
				book.Add(j)
			case 3:
				store()
			case 4:
				restored, err := record.Unpack(book.Pack(), book.Pages())
				require.NoError(t, err)
				book = restored
			}
			require.Equal(t, want, listed(t, &book, pages))
		}
		book.Finish()
		for segment := book.Store(at); segment != nil; segment = book.Store(at) {
			pages[contract.PageName(segment)] = slices.Clone(segment)
			book.Stored(contract.PageName(segment))
			book.Finish()
		}
		require.LessOrEqual(t, len(book.Rest()), 4<<10)
		rest, err := record.Read(book.Rest())
		require.NoError(t, err)
		require.Equal(t, want, append(stored(t, book.Pages(), pages), rest...))
	})
}

func listed(t require.TestingT, book *record.Book, pages map[string][]byte) []record.Job {
	held, err := book.Jobs()
	require.NoError(t, err)
	return append(stored(t, book.Pages(), pages), held...)
}

func stored(t require.TestingT, table []contract.RecordPage, pages map[string][]byte) (list []record.Job) {
	for _, entry := range table {
		jobs, err := record.Read(pages[entry.Page])
		require.NoError(t, err)
		states := map[string]int{}
		for _, j := range jobs {
			states[j.State]++
			require.GreaterOrEqual(t, j.N, entry.First)
			require.LessOrEqual(t, j.N, entry.Last)
		}
		require.Equal(t, states, entry.States)
		require.LessOrEqual(t, len(pages[entry.Page]), contract.MaxPage)
		list = append(list, jobs...)
	}
	return list
}

// TestDamagedRecordsAreRefused: a part of one, and noise, give an error or other jobs,
// never a panic.
func TestDamagedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		book := record.NewBook()
		for _, j := range rapid.SliceOfN(jobs(), 1, 8).Draw(t, "jobs") {
			book.Add(j)
		}
		packed := book.Pack()
		_, err := record.Unpack(packed[:rapid.IntRange(1, len(packed)-1).Draw(t, "cut")], nil)
		require.ErrorIs(t, err, record.ErrDamaged)
		_, _ = record.Read(rapid.SliceOf(rapid.Byte()).Draw(t, "noise"))
		_, _ = record.Unpack(rapid.SliceOf(rapid.Byte()).Draw(t, "more noise"), nil)
	})
}

// TestSegmentsHaveAVersion: another one is refused by its number, because its bytes would be read as other jobs. A segment
// from before there were versions is read, and continued.
func TestSegmentsHaveAVersion(t *testing.T) {
	t.Parallel()
	book := record.NewBook()
	book.Add(record.Job{N: 1, State: contract.JobCompleted})
	segment := slices.Clone(book.Rest())
	require.EqualValues(t, 1, segment[0])
	segment[0] = 3
	_, err := record.Read(segment)
	var refused *record.VersionError
	require.ErrorAs(t, err, &refused)
	assert.EqualValues(t, 3, refused.Version)
	assert.EqualError(t, err, "the record of ended jobs has version 3, this program reads 1: use the program that wrote it")

	old := segment[1:]
	book, err = record.Unpack(append([]byte{byte(len(old))}, old...), nil)
	require.NoError(t, err)
	book.Add(record.Job{N: 2, State: contract.JobFailed})
	jobs, err := record.Read(book.Rest())
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	assert.Equal(t, []int{1, 2}, []int{jobs[0].N, jobs[1].N})
}

func TestASegmentHasAtMost8192Jobs(t *testing.T) {
	t.Parallel()
	book := record.NewBook()
	for n := 1; n <= 20_000; n++ {
		book.Add(record.Job{N: n, State: contract.JobCompleted, Worker: "node-a"})
	}
	held, err := book.Jobs()
	require.NoError(t, err)
	assert.Len(t, held, 20_000)
	now := time.Now()
	for segment := book.Store(now); segment != nil; segment = book.Store(now) {
		book.Stored(contract.PageName(segment))
	}
	require.Len(t, book.Pages(), 2)
	for _, page := range book.Pages() {
		assert.Equal(t, 8192, page.States[contract.JobCompleted])
	}
	held, err = book.Jobs()
	require.NoError(t, err)
	assert.Len(t, held, 20_000-2*8192)
}
