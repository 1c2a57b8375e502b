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
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/run"
)

type shelf struct {
	refuses int
	pages   map[string][]byte
	closed  []string
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
		return nil, temporal.NewNonRetryableApplicationError("gone", contract.PageLostError, nil)
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
	for _, size := range []int{0, 1, 1280 << 10, 1280<<10 + 1, 5 << 20} {
		b, s := newBench(t), &shelf{}
		s.register(b)
		state := stateOf(size)
		b.play(time.Second, func(r *run.Runner) {
			first, pages, saved := r.Save(state, 0)
			require.True(t, saved)
			assert.LessOrEqual(t, len(first), 1280<<10)
			for _, data := range s.pages {
				assert.LessOrEqual(t, len(data), contract.MaxPage)
			}
			whole, err := r.Load(first, pages)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(state, whole), "%d bytes", size)
			for page := range pages {
				delete(s.pages, contract.PageWorkflowID("default-test-workflow-id", pages[page]))
			}
			if len(pages) > 0 {
				_, err = r.Load(first, pages)
				require.ErrorContains(t, err, "gone")
			}
		}, nil)
		require.NoError(t, b.GetWorkflowError())
		assert.Len(t, s.closed, (max(size-1280<<10, 0)+contract.MaxPage-1)/contract.MaxPage, "what was read is closed")
	}
}

func TestAStateThatIsNotStoredIsStoredLater(t *testing.T) {
	t.Parallel()
	b, s := newBench(t), &shelf{}
	s.register(b)
	state := stateOf(3 << 20)
	b.play(time.Second, func(r *run.Runner) {
		first, pages, saved := r.Save(state[:2<<20], 0)
		require.True(t, saved)
		assert.NotEmpty(t, first)
		before := len(pages)
		assert.True(t, r.Idle())

		s.refuses = 1
		_, pages, saved = r.Save(state, 0)
		assert.False(t, saved)
		assert.Empty(t, pages)
		assert.False(t, r.Idle(), "the run stays")
		failed := r.Now()
		for !r.Idle() {
			require.NoError(t, r.Wait(failed.Add(time.Hour), true, r.Ready))
			r.Collect()
		}
		assert.GreaterOrEqual(t, r.Now().Sub(failed), 10*time.Second)
		_, pages, saved = r.Save(state, 0)
		assert.True(t, saved)
		assert.Greater(t, len(pages), before)
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
