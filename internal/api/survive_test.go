package api

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/api/problem"
	"github.com/roundsman/roundsman/internal/live"
)

// A bug in what makes the pictures of a topic is a refusal to its viewers: pictures are
// made in a goroutine that belongs to no request.
func TestABugInATopicEndsNoProcess(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	odd := viewable{a.needs["get-version"], func(context.Context, *Call) (any, error) { panic("odd") }}
	a.live.Declare(live.Topic{Name: "odd", Every: visibleEvery})
	stream := a.live.Join([]live.Seat{{Topic: "odd", Set: "all", Make: a.draw(odd, Caller{})}}, "")
	defer stream.Close()
	var events []live.Event
	for len(events) == 0 {
		<-stream.Ready()
		events = stream.Next()
	}
	require.Equal(t, live.Refused, events[0].Kind)
	refused := problem.From(events[0].Why)
	assert.Equal(t, http.StatusInternalServerError, refused.Status)
	assert.NotContains(t, refused.Detail, "odd", "what a bug says is for the log")
	_, err := a.known.jobTypes.Get(t.Context()) // Without a client it is one.
	assert.Equal(t, problem.CodeInternal, problem.From(err).Code)
}
