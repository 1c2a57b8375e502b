package etag

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	var turns Turns
	var all sync.WaitGroup
	counts := [3]int{}
	for i := range 60 {
		all.Go(func() {
			leave, err := turns.Take(t.Context(), fmt.Sprint(i%3))
			if assert.NoError(t, err) {
				counts[i%3]++ // The race detector sees two at once.
				leave()
			}
		})
	}
	all.Wait()
	assert.Equal(t, [3]int{20, 20, 20}, counts)
	assert.Empty(t, turns.used, "paths are not kept")
}

// TestWhoGivesUpTakesNoTurn: a client disconnects while it waits.
func TestWhoGivesUpTakesNoTurn(t *testing.T) {
	t.Parallel()
	var turns Turns
	leave, err := turns.Take(t.Context(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		_, err = turns.Take(ctx, "a")
		require.ErrorIs(t, err, context.Canceled)
	}
	other, err := turns.Take(t.Context(), "b")
	require.NoError(t, err, "another path has turns of its own")
	other()
	leave()
	leave, err = turns.Take(t.Context(), "a")
	require.NoError(t, err)
	leave()
	assert.Empty(t, turns.used)
}

func TestTagsInHeaders(t *testing.T) {
	t.Parallel()
	const tag = `"abc"`
	for written, want := range map[string]bool{
		``: false, `*`: true, `"abc"`: true, `W/"abc"`: true, ` "x" , "abc"`: true, `abc`: false, `"abc`: false, `"ABC"`: false, `"ab", "c"`: false, `"x"`: false, `w/"abc"`: false,
	} {
		assert.Equal(t, want, match(written, tag), "%q", written)
	}
}

// TestTheTimeOfAnAnswerIsNoDifference, and all else is one.
func TestTheTimeOfAnAnswerIsNoDifference(t *testing.T) {
	t.Parallel()
	of := func(body string) string { return Digest([]byte(body)) }
	one := of(`{"n":1,"as_of":"2026-01-01T00:00:00Z"}`)
	assert.Equal(t, one, of(`{"n":1,"as_of":"2027-01-01T00:00:00.5Z"}`))
	for _, other := range []string{`{"n":2,"as_of":"2026-01-01T00:00:00Z"}`, `{"n":1,"was_of":"2026-01-01T00:00:00Z"}`, `{"n":1}`, ``} {
		assert.NotEqual(t, one, of(other), other)
	}
	assert.NotEqual(t, of(`{"was_of":"a"}`), of(`{"was_of":"b"}`))
}

// TestTheConditionIsReadWithoutTheBodyAndTheQueryOfTheWrite.
func TestTheConditionIsReadWithoutTheBodyAndTheQueryOfTheWrite(t *testing.T) {
	t.Parallel()
	for status, read := range map[int]bool{http.StatusOK: true, http.StatusNotFound: true, http.StatusForbidden: false, http.StatusServiceUnavailable: false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/thing?dry_run=true", http.NoBody)
		r.Header.Set("If-Match", tagOf([]byte("body")))
		matches, unread := Matches(r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, http.MethodGet, r.Method)
			assert.Empty(t, r.URL.RawQuery)
			assert.Zero(t, r.ContentLength)
			w.WriteHeader(status)
			_, _ = w.Write([]byte("body"))
		}))
		assert.Equal(t, status == http.StatusOK, matches, status)
		assert.Equal(t, read, unread == nil, status)
		if unread != nil {
			assert.Equal(t, status, unread.Status)
		}
		assert.Equal(t, "dry_run=true", r.URL.RawQuery, "the write still has its own")
	}
}
