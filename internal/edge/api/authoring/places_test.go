package authoring

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
