package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/lib/delta"
)

// Placeholders in the Of of an [Operation]'s Live for a workflow named in the request.
const (
	OfRun = "{run}"
	// OfThing stands for all workflows that may concern the thing in the query.
	OfThing = "{thing}"
)

// ChangesOfRuns returns the workflows whose changes show in lists of runs.
func ChangesOfRuns() []string { return []string{"group/", "dag/", contract.AuditWorkflowID} }

func changesOfJobTypes() []string {
	return []string{"group/", contract.AuditWorkflowID, contract.AdmissionWorkflowID}
}

// LiveRun is the topic of the parts of a run, fetched every two seconds while the run is open.
func LiveRun(gap time.Duration) *feed.Topic {
	return &feed.Topic{Every: queriedEvery, Busy: busyEvery, Gap: gap, Of: []string{OfRun}}
}

// LiveCalendar is the topic of forecasts and ledgers. They change with settings and with each ended run.
func LiveCalendar() *feed.Topic {
	return &feed.Topic{Every: seldomEvery, Gap: calendarGap, Of: changesOfJobTypes()}
}

const (
	// calendarGap is long, since a forecast queries each Schedule.
	calendarGap = 15 * time.Second
	// busyEvery is the refresh interval for progress, which workflows do not record.
	busyEvery = 2 * time.Second
	// visibleApart leaves some of visibility's ten calls per second to others.
	visibleApart = 300 * time.Millisecond
)

func (a *API) watched(name string) (*feed.Topic, *http.Request, bool) {
	if !strings.HasPrefix(name, "/") {
		return nil, nil, false
	}
	r, err := http.NewRequest(http.MethodGet, Prefix+name, http.NoBody) //nolint:noctx // each look has a context of its own
	if err != nil {
		return nil, nil, false
	}
	o, known := a.operationOf(r)
	if !known || o.Live == nil {
		return nil, nil, false
	}
	topic := *o.Live
	topic.Name, topic.Of = name, nil
	for _, of := range o.Live.Of {
		switch of {
		case OfRun:
			topic.Of = append(topic.Of, RunPath{Run: segmentOf(r, o, OfRun)}.Ref().WorkflowID)
		case OfThing:
			topic.Of = append(topic.Of, concerns(r.URL.Query().Get("thing"))...)
		default:
			topic.Of = append(topic.Of, of)
		}
	}
	return &topic, r, true
}

func segmentOf(r *http.Request, o Operation, name string) string {
	at := slices.Index(strings.Split(Prefix+o.Path, "/"), name)
	return strings.Split(r.URL.Path, "/")[at] // The pattern matched, and ids have ~ for /.
}

func concerns(thing string) []string {
	shared := []string{contract.AdmissionWorkflowID, contract.FleetWorkflowID, contract.AuditWorkflowID}
	for _, prefix := range []string{"group/", "dag/"} {
		if rest, is := strings.CutPrefix(thing, prefix); is {
			run, _, _ := strings.Cut(rest, "/")
			if prefix == "dag/" { // The workflow of DAG/RUN/TASK is dag/DAG/RUN.
				return append(shared, prefix+run+"/")
			}
			return append(shared, prefix+run, prefix+run+"/")
		}
	}
	return append(shared, "group/")
}

func (a *API) look(r *http.Request, caller Caller) feed.Make {
	viewers := Caller{Name: "viewers", Rights: caller.Rights}
	return survives(a.options.Logger, func(ctx context.Context) (feed.Picture, error) {
		if r.URL.Path == Prefix+"/runs" {
			if err := a.visibility.Wait(ctx); err != nil {
				return feed.Picture{}, fmt.Errorf("wait for the turn at visibility: %w", err)
			}
		}
		picture := feed.Picture{AsOf: time.Now().UTC()}
		kept := etag.NewAnswer(http.Header{})
		a.operations().ServeHTTP(kept, r.Clone(context.WithValue(ctx, callerKey{}, viewers)))
		if kept.Status != http.StatusOK {
			refused := problem.New(kept.Status, "", http.StatusText(kept.Status))
			if err := json.Unmarshal(kept.Body.Bytes(), refused); err != nil {
				return picture, fmt.Errorf("read why %s was refused: %w", r.URL.Path, err)
			}
			return picture, refused
		}
		picture.Body, picture.Digest = bytes.TrimSpace(kept.Body.Bytes()), etag.Digest(kept.Body.Bytes())
		picture.Since = since(picture.Body)
		return picture, nil
	})
}

func since(body []byte) func(earlier []byte) []byte {
	return func(earlier []byte) []byte { return delta.Of(earlier, body, etag.HasTime) }
}
