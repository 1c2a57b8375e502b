package authoring

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// A surplus document gets 503 with Retry-After and is not read. The next one takes a place that is free
// again.
func TestFewDocumentsAreReadAtOnce(t *testing.T) {
	t.Parallel()
	s := &service{places: make(chan struct{}, 1)}
	leave, err := s.enter(t.Context())
	require.NoError(t, err)
	_, err = s.compile(t.Context(), Spec{Document: "version: 1\nname: x\ntasks: [{id: a, noop: true}]\n"})
	busy, is := errors.AsType[*problem.Problem](err)
	require.True(t, is, "%v", err)
	assert.Equal(t, http.StatusServiceUnavailable, busy.Status)
	assert.Equal(t, "2", busy.GetHeaders().Get("Retry-After"))
	_, err = s.load(t.Context(), nil, &ConfigurationInput{Body: Document{Document: "version: 1\n"}})
	_, is = errors.AsType[*problem.Problem](err)
	assert.True(t, is, "%v", err)
	leave()
	_, err = s.compile(t.Context(), Spec{Document: "version: 1\nname: x\ntasks: [{id: a, noop: true}]\n"})
	assert.NoError(t, err)
}

// TestParamsOfARunHaveTheirTypes: params of a request were not compared with those of the document, and numbers named no tasks.
func TestParamsOfARunHaveTheirTypes(t *testing.T) {
	t.Parallel()
	s := &service{places: make(chan struct{}, 1)}
	const document = "version: 1\nname: x\nparams: {hosts: [a], level: 3, mode: quick}\ntasks: [{id: visit, for_each: '{{.Params.hosts}}', command: [x, '{{.Params.level}}']}]\n"
	compiled, err := s.compile(t.Context(), Spec{Document: document, Params: map[string]any{"hosts": []any{float64(1), "b", 1e6}, "level": "7"}})
	require.NoError(t, err)
	var ids []string
	for i := range dag.Index(compiled.Graph.Len()) {
		ids = append(ids, compiled.Graph.ID(i))
	}
	assert.Equal(t, []string{"visit.1", "visit.b", "visit.1000000"}, ids)
	for want, params := range map[string]map[string]any{
		"params.level: it is a mapping": {"level": map[string]any{}}, `params.level: "many"`: {"level": "many"}, "params.mode: it is a number": {"mode": float64(7)}, `params.host: DAG x has no such param; did you mean "hosts"?`: {"host": "a"},
	} {
		_, err := s.compile(t.Context(), Spec{Document: document, Params: params})
		refused, is := errors.AsType[*problem.Problem](err)
		require.True(t, is, "%v", err)
		assert.Equal(t, http.StatusUnprocessableEntity, refused.Status)
		assert.ErrorContains(t, err, want)
	}
}
