package rest

import (
	"context"
	"net/http"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// service serves a gateway. Without a gateway it can only describe its operations.
type service struct{ gateway *gateway.Gateway }

// Protocol adds the operations of workers to an API.
func Protocol(g *gateway.Gateway) func(*api.API) {
	return func(a *api.API) {
		s := &service{gateway: g}
		s.processes(a)
		s.attempts(a)
	}
}

const tag = "remote workers"

func working(id, path, summary string) api.Operation {
	return api.Operation{
		ID: id, Method: http.MethodPost, Path: path, Tag: tag, Summary: summary, May: access.Permission{Verb: access.Work, Kind: access.Workers},
	}
}

func add[I, O any](a *api.API, o api.Operation, do func(context.Context, *I) (O, error)) {
	api.Add(a, o, func(ctx context.Context, _ *api.Call, in *I) (O, error) {
		out, err := do(ctx, in)
		return out, problemOf(err)
	})
}
