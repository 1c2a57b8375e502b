package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/lib/jsonout"
	"github.com/roundsman/roundsman/starter"
)

// patrolEvery shows viewers changes by other control planes within three seconds.
const patrolEvery = 2500 * time.Millisecond

// Lists from visibility cost one or two calls of ten that a namespace may make per second. Queries cost one ordinary call.
const (
	visibleEvery = 30 * time.Second
	queriedEvery = 30 * time.Second
	seldomEvery  = time.Minute
	// handlersGap is long, since few changes of the fleet change the handlers.
	handlersGap = 20 * time.Second
	// Viewers see within three seconds that the server does not answer.
	healthEvery  = time.Second
	healthWithin = time.Second
	// visibleLag is the delay within which visibility shows nearly every change.
	visibleLag = 1500 * time.Millisecond
	// visibleGap limits the fetches of lists on a busy control plane, and still shows each change within a second.
	visibleGap = 700 * time.Millisecond
)

type viewable struct {
	operation Operation
	answer    func(context.Context, *Call) (any, error)
}

func whole() *struct{ Listing } { return &struct{ Listing }{Listing{Limit: mostListed}} }

const mostListed = 1000

// Each line has the topic, the operation with its permission, its handler and its parameters.
func (a *API) topics() {
	visible := func(name string, stale func(), of ...string) feed.Topic {
		return feed.Topic{Name: name, Every: visibleEvery, Gap: visibleGap, Lag: visibleLag, Of: of, Stale: stale}
	}
	queried := func(name string, of ...string) feed.Topic {
		return feed.Topic{Name: name, Every: queriedEvery, Of: of}
	}
	topic(a, visible("job-types", a.known.jobTypes.Stale, changesOfJobTypes()...), "list-job-types", a.listJobTypes, whole())
	topic(a, queried("workers", contract.FleetWorkflowID), "list-workers", a.listWorkers, &workersInput{Listing: Listing{Limit: mostListed}})
	admission := func(name string) feed.Topic {
		return feed.Topic{Name: name, Every: queriedEvery, Of: []string{contract.AdmissionWorkflowID}, Stale: a.known.admission.Stale}
	}
	topic(a, visible("runs", nil, ChangesOfRuns()...), "list-runs", a.listRuns, &runsInput{Counts: true, Listing: Listing{Limit: 100}})
	topic(a, admission("lanes"), "list-lanes", a.listLanes, whole())
	topic(a, admission("pools"), "list-pools", a.listPools, whole())
	topic(a, admission("objects"), "list-objects", a.listObjects, whole())
	topic(a, queried("audit", contract.AuditWorkflowID), "list-audit", a.listAudit, &auditInput{Listing: Listing{Limit: 100}})
	topic(a, feed.Topic{Name: "held", Every: visibleEvery, Of: []string{contract.AdmissionWorkflowID}}, "list-held", a.listHeld, whole())
	topic(a, feed.Topic{Name: "handlers", Every: visibleEvery, Gap: handlersGap, Of: []string{contract.FleetWorkflowID}}, "list-handlers", listHandlers, whole())
	topic(a, feed.Topic{Name: "server", Every: healthEvery}, "get-version", a.serverAnswers, &struct{}{})
	topic(a, feed.Topic{Name: "doctor", Every: seldomEvery, Gap: seldomEvery}, "get-doctor", getDoctor, &struct{}{})
}

// ServerAnswers is the topic server: Temporal answers. Otherwise the topic has an error.
type ServerAnswers struct {
	OK bool `json:"ok"`
}

// When the server answers again, every topic is fetched at once.
func (a *API) serverAnswers(ctx context.Context, call *Call, _ *struct{}) (ServerAnswers, error) {
	if time.Since(a.live.Heard()) < healthWithin && !a.away.Load() {
		return ServerAnswers{OK: true}, nil
	}
	limited, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	if err := call.Client.Reachable(limited); err != nil {
		a.away.Store(true)
		unreachable, _ := errors.AsType[*starter.UnreachableError](err)
		return ServerAnswers{}, problem.New(http.StatusServiceUnavailable, problem.CodeServerUnreachable, "Temporal's server does not answer: "+unreachable.Why())
	}
	if a.away.Swap(false) {
		a.live.ChangedAll()
	}
	return ServerAnswers{OK: true}, nil
}

func topic[I, O any](a *API, t feed.Topic, operation string, answer func(context.Context, *Call, *I) (O, error), in *I) {
	a.live.Declare(t)
	a.viewed[t.Name] = viewable{a.needs[operation], func(ctx context.Context, call *Call) (any, error) {
		return answer(ctx, call, new(*in))
	}}
}

func (a *API) goneOn(ctx context.Context, workflowID string) (state string, over bool, err error) {
	described, err := a.options.Client.Temporal().DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return "", false, err
	}
	info := described.GetWorkflowExecutionInfo()
	entity := workflowID == contract.AuditWorkflowID || workflowID == contract.AdmissionWorkflowID || workflowID == contract.FleetWorkflowID
	return fmt.Sprint(info.GetExecution().GetRunId(), info.GetHistoryLength(), info.GetStatus()), !entity && info.GetCloseTime() != nil, nil
}

type dated interface{ made() time.Time }

func (p Page) made() time.Time { return p.AsOf }

func (a *API) draw(v viewable, caller Caller) feed.Make {
	return survives(a.options.Logger, func(ctx context.Context) (feed.Picture, error) {
		call := &Call{Caller: Caller{Name: "viewers", Rights: caller.Rights}, Client: a.options.Client, api: a, operation: v.operation}
		picture := feed.Picture{AsOf: time.Now().UTC()}
		view, err := v.answer(ctx, call)
		if err != nil {
			return picture, err
		}
		if page, ok := view.(dated); ok {
			picture.AsOf = page.made()
		}
		picture.Refused = call.refused
		if picture.Body, err = jsonout.JSON(view, ""); err != nil {
			return picture, err
		}
		picture.Body = bytes.TrimSuffix(picture.Body, []byte("\n"))
		picture.Digest, picture.Since = etag.Digest(picture.Body), since(picture.Body)
		return picture, nil
	})
}
