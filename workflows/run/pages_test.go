package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/run"
)

type shelf struct {
	refuses int
	pages   map[string][]byte
	closed  []string
	// lost counts the reads of a page that is not there.
	lost int
	// again is called at the fourth of these.
	again func()
}

func (s *shelf) register(b *bench) {
	s.pages = map[string][]byte{}
	register := func(name string, f any) { b.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	register(contract.PutPageActivity, func(_ context.Context, in contract.PageInput, data []byte) (string, error) {
		if s.refuses > 0 {
			s.refuses--
			return "", errors.New("the database is away")
		}
		name := contract.PageName(data)
		s.pages[contract.PageWorkflowID(in.Run, name)] = data
		return name, nil
	})
	register(contract.ReadPageActivity, func(_ context.Context, in contract.PageInput) ([]byte, error) {
		if data, ok := s.pages[contract.PageWorkflowID(in.Run, in.Page)]; ok {
			return data, nil
		}
		if s.lost++; s.lost == 4 {
			s.again()
		}
		return nil, errors.New("the page is lost")
	})
	register(contract.ClosePagesActivity, func(_ context.Context, in contract.ClosePagesInput) error {
		s.closed = append(s.closed, in.Pages...)
		return nil
	})
}

func stateOf(size int) []byte {
	state := make([]byte, size)
	chacha := rand.NewChaCha8([32]byte{1})
	_, _ = chacha.Read(state)
	return state
}

func TestAStateIsDividedIntoPages(t *testing.T) {
	t.Parallel()
	const inline = 16 << 10
	for _, size := range []int{0, 1, inline, inline + 1, 480 << 10, 480<<10 + 1, 5 << 20} {
		b, s := newBench(t), &shelf{}
		s.register(b)
		state := stateOf(size)
		b.play(time.Second, func(r *run.Runner) {
			argument, stored, saved := r.Save(state, 0)
			require.True(t, saved)
			assert.Equal(t, size > inline, len(argument) == 0 && size > 0)
			for _, data := range s.pages {
				assert.LessOrEqual(t, len(data), contract.MaxPage)
			}
			whole, err := r.Load(argument, stored)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(state, whole), "%d bytes", size)
		}, nil)
		require.NoError(t, b.GetWorkflowError())
		want := 0
		if size > inline {
			want = (size + contract.MaxPage - 1) / contract.MaxPage
		}
		assert.Len(t, s.pages, want)
		assert.Empty(t, s.closed, "a reset needs what was read")
	}
}

// TestAFormerStateIsClosed: the pages of a state stay open for as long as the workflow run that began from it. A state that is the
// same again has the same pages.
func TestAFormerStateIsClosed(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), &shelf{}
	s.register(b)
	var first, second contract.StatePages
	b.play(time.Second, func(r *run.Runner) {
		_, first, _ = r.Save(stateOf(100<<10), 0)
		_, err := r.Load(nil, first)
		require.NoError(t, err)
		_, second, _ = r.Save(stateOf(200<<10), 0)
		assert.Equal(t, first.Pages, second.Former)
		_, same, _ := r.Save(stateOf(100<<10), 0)
		r.Drop(same.Pages)
		_, err = r.Load(nil, second)
		require.NoError(t, err)
		_, err = r.Load(nil, contract.StatePages{Pages: second.Pages, Former: second.Pages})
		require.NoError(t, err)
	}, nil)
	require.NoError(t, b.GetWorkflowError())
	assert.Equal(t, first.Pages, s.closed)
}

// TestAStateOfAnEarlierVersion has its first part in the argument. Its pages are closed at once, as in the history of that version.
func TestAStateOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), &shelf{}
	s.register(b)
	state := stateOf(100 << 10)
	var rest contract.StatePages
	b.play(time.Second, func(r *run.Runner) {
		_, rest, _ = r.Save(state[1000:], 0)
		whole, err := r.Load(state[:1000:1000], contract.StatePages{Pages: rest.Pages})
		require.NoError(t, err)
		assert.True(t, bytes.Equal(state, whole))
		_, next, _ := r.Save(state, 0)
		assert.Empty(t, next.Former, "they are closed")
	}, nil)
	require.NoError(t, b.GetWorkflowError())
	assert.Equal(t, rest.Pages, s.closed)
}

// TestALostStateIsAwaited: a run does not end because its state cannot be read.
func TestALostStateIsAwaited(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), &shelf{}
	s.register(b)
	var lost string
	var data []byte
	b.play(time.Second, func(r *run.Runner) {
		_, stored, _ := r.Save(stateOf(100<<10), 0)
		lost = contract.PageWorkflowID("default-test-workflow-id", stored.Pages[0])
		data = s.pages[lost]
		delete(s.pages, lost)
		s.again = func() { s.pages[lost] = data }
		whole, err := r.Load(nil, stored)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(data, whole))
	}, nil)
	require.NoError(t, b.GetWorkflowError())
	assert.Equal(t, 4, s.lost)
}

func TestAStateThatIsNotStoredIsStoredLater(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), &shelf{}
	s.register(b)
	state := stateOf(3 << 20)
	b.play(time.Second, func(r *run.Runner) {
		_, stored, saved := r.Save(state[:2<<20], 0)
		require.True(t, saved)
		before := len(stored.Pages)
		assert.True(t, r.Idle())

		s.refuses = 1
		_, stored, saved = r.Save(state, 0)
		assert.False(t, saved)
		assert.Empty(t, stored)
		assert.False(t, r.Idle(), "the run stays")
		failed := r.Now()
		for !r.Idle() {
			require.NoError(t, r.Wait(failed.Add(time.Hour), true, r.Ready))
			r.Collect()
		}
		assert.GreaterOrEqual(t, r.Now().Sub(failed), 10*time.Second)
		_, stored, saved = r.Save(state, 0)
		assert.True(t, saved)
		assert.Greater(t, len(stored.Pages), before)
	}, nil)
	require.NoError(t, b.GetWorkflowError())
}

func TestPageNames(t *testing.T) {
	t.Parallel()
	for _, run := range []string{"group/scrub-2026-11-20T09:00:00Z", "dag/nine/x", "a"} {
		id := contract.PageWorkflowID(run, contract.PageName([]byte("x")))
		assert.Regexp(t, `^page/.*/[0-9a-f]{16}$`, id)
		got, ok := contract.RunOfPage(id)
		assert.True(t, ok)
		assert.Equal(t, run, got)
	}
	for _, id := range []string{"", "page/", "page/x", "group/a", "page//x"} {
		_, ok := contract.RunOfPage(id)
		assert.False(t, ok, fmt.Sprint(id))
	}
}
