package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/gateway"
)

func statusOf(code gateway.Code) int {
	switch code {
	case gateway.CodeInvalid:
		return http.StatusUnprocessableEntity
	case gateway.CodeBadToken:
		return http.StatusUnauthorized
	case gateway.CodeNotYours:
		return http.StatusForbidden
	case gateway.CodeUnknownWorker:
		return http.StatusNotFound
	case gateway.CodeIDInUse:
		return http.StatusConflict
	case gateway.CodeLeaseLost:
		return http.StatusGone
	case gateway.CodeUnavailable:
	}
	return http.StatusServiceUnavailable
}

// Problem converts an error of the gateway to a problem. It returns nil for other errors.
func Problem(err error) *problem.Problem {
	answer, ok := errors.AsType[*gateway.Error](err)
	if !ok {
		return nil
	}
	p := problem.New(statusOf(answer.Code), string(answer.Code), answer.Message).With(answer.Remedy)
	p.Holder, p.Delivered, p.RetryAfter = answer.Holder, answer.Delivered, answer.RetryAfter
	return p
}

// The API converts all other errors.
func problemOf(err error) error {
	if p := Problem(err); p != nil {
		return p
	}
	if errors.Is(err, context.Canceled) {
		return problem.New(http.StatusServiceUnavailable, "", "the gateway is being stopped").With("repeat the request")
	}
	return err
}
