package rest

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
)

// Bearer is the header that identifies the sender of a request.
type Bearer struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

func (b Bearer) token() string {
	kind, token, _ := strings.Cut(b.Authorization, " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// OfWorker is a request of the worker in its path.
type OfWorker struct {
	Bearer
	ID string `path:"id" maxLength:"63" doc:"The worker"`
}

func (s *service) worker(in OfWorker) (gateway.Worker, error) {
	w, err := s.gateway.Worker(in.token())
	if err == nil && w.ID() != in.ID {
		err = &gateway.Error{Code: gateway.CodeNotYours, Message: "this token is that of worker " + w.ID() + ", not of " + in.ID, Remedy: "use the id that you registered"}
	}
	return w, err
}

type registerInput struct {
	Bearer
	Body gateway.Registration
}

func (s *service) register(ctx context.Context, call *api.Call, in *registerInput) (gateway.Registered, error) {
	// A key for one worker registers that worker only.
	if call.Worker != "" {
		in.Body.ID = cmp.Or(in.Body.ID, call.Worker)
	}
	if call.Worker != "" && in.Body.ID != call.Worker {
		return gateway.Registered{}, problem.Newf(http.StatusForbidden, string(gateway.CodeNotYours), "this key is that of worker %s", call.Worker)
	}
	// A token has no handlers of its own, and would lift the limit of the key behind it.
	if call.Auth == auth.ByWorker {
		return gateway.Registered{}, problem.New(http.StatusForbidden, problem.CodeAccessDenied, "a worker's token does not register").
			With("send the key with which it was registered; without access control, send no Authorization")
	}
	for _, capability := range in.Body.Capabilities {
		if !call.Sees(access.Scope{Handlers: []string{capability.Handler}}) {
			return gateway.Registered{}, problem.Newf(http.StatusForbidden, problem.CodeAccessDenied, "%s may not register handler %s", call.Name, capability.Handler).
				With("give its key or binding this handler, or leave it out")
		}
	}
	in.Body.Key = call.Key
	registered, err := s.gateway.Register(ctx, in.Body)
	return registered, problemOf(err)
}

type pingInput struct {
	OfWorker
	Body gateway.Ping
}

func (s *service) ping(ctx context.Context, in *pingInput) (gateway.Settings, error) {
	w, err := s.worker(in.OfWorker)
	if err != nil {
		return gateway.Settings{}, err
	}
	return w.Ping(ctx, in.Body)
}

type done struct {
	OK bool `json:"ok"`
}

func (s *service) unregister(ctx context.Context, in *OfWorker) (done, error) {
	w, err := s.worker(*in)
	if err != nil {
		return done{}, err
	}
	return done{OK: true}, w.Unregister(ctx)
}

type pollInput struct {
	OfWorker
	Body struct {
		Wait    jobtype.Duration `json:"wait,omitempty" doc:"How long to wait, at most 60s"`
		Full    bool             `json:"full,omitempty" doc:"There is no free slot: what was sent to this worker is placed elsewhere at once"`
		Running []string         `json:"running,omitempty" maxItems:"1000" doc:"The leases of the jobs that run. A run that was cut off from one of them renews its lease"`
	}
}

type polledJob struct{ *gateway.Job }

// HTTPStatus implements api.Statused.
func (j polledJob) HTTPStatus() int { return statusOfPoll(j.Job == nil) }

func statusOfPoll(nothing bool) int {
	if nothing {
		return http.StatusNoContent
	}
	return http.StatusOK
}

func (s *service) pollJob(ctx context.Context, in *pollInput) (polledJob, error) {
	w, err := s.worker(in.OfWorker)
	if err != nil {
		return polledJob{}, err
	}
	job, err := w.PollJob(ctx, gateway.PollInput{Wait: in.Body.Wait.Std(), Full: in.Body.Full, Running: in.Body.Running})
	return polledJob{job}, err
}

type pollDetectionInput struct {
	OfWorker
	Body struct {
		Wait jobtype.Duration `json:"wait,omitempty" doc:"How long to wait, at most 60s"`
	}
}

type polledDetection struct{ *gateway.Detection }

// HTTPStatus implements api.Statused.
func (d polledDetection) HTTPStatus() int { return statusOfPoll(d.Detection == nil) }

func (s *service) pollDetection(ctx context.Context, in *pollDetectionInput) (polledDetection, error) {
	w, err := s.worker(in.OfWorker)
	if err != nil {
		return polledDetection{}, err
	}
	detection, err := w.PollDetection(ctx, in.Body.Wait.Std())
	return polledDetection{detection}, err
}

func (s *service) processes(a *api.API) {
	const one = "/workers/{id}"
	api.Add(a, working("register-worker", "/workers/register", "Register a worker process"), s.register)
	add(a, working("ping-worker", one+"/ping", "Send a sign of life"), s.ping)
	add(a, working("unregister-worker", one+"/unregister", "Make the worker OFFLINE at once"), s.unregister)
	poll := working("poll-job", one+"/jobs:poll", "Wait for a job")
	poll.Nothing = "There is no job"
	add(a, poll, s.pollJob)
	poll = working("poll-detection", one+"/detections:poll", "Wait for a detection")
	poll.Nothing = "There is no detection"
	add(a, poll, s.pollDetection)
}
