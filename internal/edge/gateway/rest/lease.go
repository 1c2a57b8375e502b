package rest

import (
	"context"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/jobtype"
)

// OfLease is a request about one attempt.
type OfLease struct {
	Bearer
	Lease string `path:"lease" maxLength:"8000" doc:"The lease that the job came with"`
}

func (s *service) lease(in OfLease) (gateway.Lease, error) {
	w, err := s.gateway.Worker(in.token())
	if err != nil {
		return gateway.Lease{}, err
	}
	return w.Lease(in.Lease)
}

type heartbeatInput struct {
	OfLease
	Body gateway.Progress
}

// Verdict is the answer to a heartbeat.
type Verdict struct {
	Continue bool           `json:"continue"`
	Cancel   gateway.Cancel `json:"cancel,omitempty" enum:"canceled,timeout,return"`
}

func (s *service) heartbeat(ctx context.Context, in *heartbeatInput) (Verdict, error) {
	l, err := s.lease(in.OfLease)
	if err != nil {
		return Verdict{}, err
	}
	cancel, err := l.Heartbeat(ctx, in.Body)
	return Verdict{Continue: cancel == "", Cancel: cancel}, err
}

type completeInput struct {
	OfLease
	Body jobtype.Result
}

func (s *service) complete(ctx context.Context, in *completeInput) (done, error) {
	l, err := s.lease(in.OfLease)
	if err != nil {
		return done{}, err
	}
	return done{OK: true}, l.Complete(ctx, in.Body)
}

type endInput struct {
	OfLease
	Body gateway.Failure
}

func (s *service) ended(end func(gateway.Lease, context.Context, gateway.Failure) error) func(context.Context, *endInput) (done, error) {
	return func(ctx context.Context, in *endInput) (done, error) {
		l, err := s.lease(in.OfLease)
		if err != nil {
			return done{}, err
		}
		return done{OK: true}, end(l, ctx, in.Body)
	}
}

type proposeInput struct {
	OfLease
	Body struct {
		Cursor    string             `json:"cursor" doc:"That of the detection, or of the page before"`
		Proposals []jobtype.Proposal `json:"proposals" maxItems:"1000"`
	}
}

func (s *service) propose(ctx context.Context, in *proposeInput) (gateway.Page, error) {
	l, err := s.lease(in.OfLease)
	if err != nil {
		return gateway.Page{}, err
	}
	return l.Propose(ctx, in.Body.Cursor, in.Body.Proposals)
}

type detectedInput struct {
	OfLease
	Body struct {
		Cursor string `json:"cursor" doc:"That of the last page"`
		More   bool   `json:"more,omitempty" doc:"The detector stopped because the run was full"`
	}
}

func (s *service) detected(ctx context.Context, in *detectedInput) (done, error) {
	l, err := s.lease(in.OfLease)
	if err != nil {
		return done{}, err
	}
	return done{OK: true}, l.Detected(ctx, in.Body.Cursor, in.Body.More)
}

func (s *service) attempts(a *api.API) {
	const one = "/leases/{lease}"
	add(a, working("heartbeat-attempt", one+"/heartbeat", "Report progress; learn whether to continue"), s.heartbeat)
	add(a, working("complete-attempt", one+"/complete", "Report success"), s.complete)
	add(a, working("fail-attempt", one+"/fail", "Report a failure"), s.ended(gateway.Lease.Fail))
	add(a, working("canceled-attempt", one+"/canceled", "Report that a canceled job has ended"), s.ended(gateway.Lease.Canceled))
	add(a, working("return-attempt", one+"/return", "Hand a job back, to be placed elsewhere"), s.ended(gateway.Lease.Return))
	add(a, working("propose-jobs", one+"/proposals", "Send a page of what a detection found"), s.propose)
	add(a, working("end-detection", one+"/detected", "End a detection after its last page"), s.detected)
}
