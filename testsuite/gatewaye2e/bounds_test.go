package gatewaye2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestReportsAreBounded: a result that is too large is refused with the limit, and the worker keeps the lease.
// A heartbeat with long texts is shown shortened.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	worker := s.join(address, "far-1")
	s.apply(jobType("scrub", "tidy", "heartbeat_timeout: 1m"))
	run := s.Begin("scrub")
	worker.detect("one")
	given := worker.poll("jobs")
	require.Equal(t, http.StatusOK, given.status, "%v", given.body)
	lease := "/leases/" + given.text("lease")
	beat := object{"percent": 1e9, "stage": strings.Repeat("s", 5000), "message": strings.Repeat("é", 5000)}
	require.Equal(t, http.StatusOK, worker.post(lease+"/heartbeat", beat).status)
	shown, err := worker.send(context.WithoutCancel(t.Context()), http.MethodGet, "/runs/"+contract.RunKey(run.WorkflowID)+"/items", nil)
	require.NoError(t, err)
	text, err := json.Marshal(shown.body)
	require.NoError(t, err)
	assert.Less(t, len(text), 3000, "%s", text)
	assert.NotContains(t, string(text), "1000000000")
	refused := worker.post(lease+"/complete", object{"data": object{"x": strings.Repeat("x", 70<<10)}})
	assert.Equal(t, http.StatusUnprocessableEntity, refused.status, "%v", refused.body)
	assert.Contains(t, refused.text("detail"), "65536")
	assert.Equal(t, http.StatusOK, worker.post(lease+"/complete", object{"data": object{"x": "small"}}).status, "the lease is kept")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(run).Outcome)
}
