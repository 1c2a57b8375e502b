package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// A bug in a topic is an error for its viewers. Its events are made in a goroutine of no request.
func TestABugInATopicEndsNoProcess(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	odd := viewable{a.needs["get-version"], func(context.Context, *Call) (any, error) { panic("odd") }}
	a.live.Declare(feed.Topic{Name: "odd", Every: visibleEvery})
	var p access.Policy
	runs, r, is := a.watched("/runs")
	require.True(t, is)
	for _, seat := range []feed.Seat{
		{Topic: "odd", Set: "all", Make: a.draw(odd, Caller{})},
		{Topic: runs.Name, Set: "all", Make: a.look(r, Caller{Rights: p.Grant(access.Viewer, nil, nil)}), Passing: runs}, // It needs a client.
	} {
		stream := a.live.Join([]feed.Seat{seat}, "")
		t.Cleanup(stream.Close)
		var events []feed.Event
		for len(events) == 0 {
			<-stream.Ready()
			events = stream.Next()
		}
		require.Equal(t, feed.Refused, events[0].Kind, seat.Topic)
		refused := problem.From(events[0].Why)
		assert.Equal(t, http.StatusInternalServerError, refused.Status, seat.Topic)
		assert.NotContains(t, refused.Detail, "odd", "what a bug says is for the log")
	}
	_, err := a.known.jobTypes.Get(t.Context()) // It is an error without a client.
	assert.Equal(t, problem.CodeInternal, problem.From(err).Code)
}

// A fetch of run lists that waits for visibility ends with its viewers, and leaves its turn to others.
func TestALookThatNobodyWaitsForEndsBeforeItsTurn(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	a.visibility.SetLimit(rate.Every(time.Hour))
	require.True(t, a.visibility.Allow())
	_, r, is := a.watched("/runs")
	require.True(t, is)
	ctx, leave := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, leave)
	_, err := a.look(r, Caller{})(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, a.visibility.AllowN(time.Now().Add(61*time.Minute), 1))
}
