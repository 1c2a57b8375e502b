package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// poll is an answer that may be empty.
type poll struct {
	Job string `json:"job,omitempty"`
}

func (p poll) HTTPStatus() int {
	if p.Job == "" {
		return http.StatusNoContent
	}
	return http.StatusOK
}

func TestAnswersMayHaveAStatusOfTheirOwn(t *testing.T) {
	t.Parallel()
	job := ""
	handler := api.New(api.Options{Bare: true, Auth: callers(), Extra: []func(*api.API){func(a *api.API) {
		api.Add(a, api.Operation{ID: "poll", Method: http.MethodPost, Path: "/poll", May: access.Permission{Verb: access.Work, Kind: access.Workers}, Summary: "Poll"},
			func(context.Context, *api.Call, *struct{}) (poll, error) { return poll{job}, nil })
	}}}).Handler()
	empty := ask(t, handler, "worker", http.MethodPost, api.Prefix+"/poll", "")
	assert.Equal(t, 204, empty.Code)
	assert.Empty(t, empty.Body.String())
	job = "a"
	assert.Equal(t, 200, ask(t, handler, "worker", http.MethodPost, api.Prefix+"/poll", "").Code)
	assert.Equal(t, 404, ask(t, handler, "worker", http.MethodGet, api.Prefix+"/version", "").Code, "bare has nothing else")
}
