package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/api/sse"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
)

const (
	// commentEvery keeps proxies from closing a quiet stream.
	commentEvery = 15 * time.Second
	// knownEvery bounds how long a caller keeps the stream after losing access.
	knownEvery = 4 * time.Second
	retryAfter = "retry: 2000\n\n"
)

type eventsInput struct {
	Topics  []string `query:"topic,explode" required:"true" minItems:"1" maxItems:"40" uniqueItems:"true" doc:"Topics: job-types, workers, lanes, pools, objects, held, handlers, audit, doctor, server, runs, or the path of a GET operation with x-roundsman-live, like /runs/{run}?state=failed"`
	Patches bool     `query:"patches" doc:"Send a change as a patch event if that is shorter"`
	Last    string   `header:"Last-Event-ID" maxLength:"8000" doc:"The id of the newest event of an earlier stream with the same topics"`
}

// LiveEvent is the data of an event.
type LiveEvent struct {
	Topic string    `json:"topic"`
	AsOf  time.Time `json:"as_of,omitzero"`
	// Data is the body of the topic's GET operation, Patch the steps to it, Problem the reason why it is stale.
	Data    json.RawMessage  `json:"data,omitempty"`
	Patch   json.RawMessage  `json:"patch,omitempty"`
	Problem *problem.Problem `json:"problem,omitempty"`
}

const eventsText = "A stream of server-sent events. `snapshot` has a topic as its GET operation answers, `change` has it again when it has changed, " +
	"`refused` has the reason why there is no newer one. An event's data are one LiveEvent. With `Last-Event-ID` a topic that has not changed is not sent again. " +
	"A comment comes every 15 s. A slow client misses the states between. With `patches` a change may come as `patch`: split the text of the topic's last data at commas. " +
	"Each step is a text, or [from, count] of these pieces. All steps, joined by commas, are the new text. Such a client keeps the id of each topic, and joins them by commas."

func (a *API) events() {
	a.topics()
	operation := Operation{
		ID: "watch-events", Method: http.MethodGet, Path: "/events", Tag: "events", Summary: "Watch lists: a picture of each, and another when it has changed",
		Description: eventsText, May: access.Permission{Verb: access.View, Kind: access.Self}, Reach: Some, Streams: true,
	}
	a.declare(operation)
	described := a.operation(operation)
	described.Responses = map[string]*huma.Response{"200": {
		Description: "Events until the client goes, the server stops or the caller's rights change",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{
			Type: huma.TypeString, Description: "event, id and data: a LiveEvent",
			Extensions: map[string]any{"x-event-data": a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[LiveEvent](), true, "LiveEvent")},
		}}},
	}}
	huma.Register(a.huma, described, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		caller, _ := CallerOf(ctx)
		seats, err := a.seats(caller, in.Topics)
		if err != nil {
			return nil, err
		}
		for i := range seats {
			seats[i].Patches = in.Patches
		}
		leave, err := a.streams.enter(caller)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer leave()
			r, w := humago.Unwrap(hc)
			stream := a.live.Join(seats, in.Last)
			defer stream.Close()
			_ = a.follow(w, r, caller, stream) // The client has disconnected.
		}}, nil
	})
}

func (a *API) seats(caller Caller, topics []string) ([]feed.Seat, error) {
	seats := make([]feed.Seat, 0, len(topics))
	for _, name := range topics {
		v, known := a.viewed[name]
		if t, r, is := a.watched(name); is {
			// The operation itself checks the permission; a refusal affects this topic only.
			seats = append(seats, feed.Seat{Topic: name, Set: caller.Rights.Fingerprint(), Make: a.look(r, caller), Passing: t})
			continue
		}
		if !known {
			return nil, problem.Newf(http.StatusUnprocessableEntity, "", "there is no topic %q", name).With("the topics are " + strings.Join(slices.Sorted(maps.Keys(a.viewed)), ", ") + ", and the paths of GET operations with " + LiveExtension)
		}
		o := v.operation
		if !caller.Rights.Allows(o.May, access.Scope{}) && (o.Reach != Some || !caller.Rights.AllowsSome(o.May)) {
			return nil, a.deny(caller, o)
		}
		seats = append(seats, feed.Seat{Topic: name, Set: caller.Rights.Fingerprint(), Make: a.draw(v, caller)})
	}
	return seats, nil
}

// follow writes events until the client disconnects, the server stops, or the caller loses access.
func (a *API) follow(w http.ResponseWriter, r *http.Request, caller Caller, stream *feed.Stream) error {
	out, err := sse.New(w, etag.TakesGzip(r))
	if err != nil {
		return err
	}
	defer out.End()
	if err := out.Write([]byte(retryAfter)); err != nil {
		return err
	}
	comment, known := time.NewTicker(commentEvery), time.NewTicker(knownEvery)
	defer comment.Stop()
	defer known.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-known.C:
			if !a.still(r, caller) {
				return nil
			}
		case <-comment.C:
			err = out.Write([]byte(": \n\n"))
		case <-stream.Ready():
			for _, event := range stream.Next() {
				if err == nil {
					err = write(out, event)
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// If the caller's rights cannot be checked, the stream continues.
func (a *API) still(r *http.Request, caller Caller) bool {
	now, err := a.options.Auth.Authenticate(r)
	if err != nil {
		return problem.From(err).Status != http.StatusUnauthorized
	}
	return now.Rights.Fingerprint() == caller.Rights.Fingerprint()
}

func write(out *sse.Writer, event feed.Event) error {
	about := LiveEvent{Topic: event.Topic, AsOf: event.AsOf}
	if event.Why != nil {
		about.Problem = problem.From(event.Why)
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, "event: %s\nid: %s\ndata: %s", event.Kind, event.ID, text[:len(text)-1])
	switch {
	case event.Kind == feed.Patch:
		head = append(head, `,"patch":`...)
	case event.Body != nil:
		head = append(head, `,"data":`...)
	}
	return out.Write(head, event.Body, []byte("}\n\n"))
}
