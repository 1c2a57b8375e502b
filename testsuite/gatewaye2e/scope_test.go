package gatewaye2e

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAScopedKeyAndIDsThatCallersChoose: a run id with the name of the key's job type in front gives no access
// to a run of another job type.
func TestAScopedKeyAndIDsThatCallersChoose(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.key("scoped", "--role", "operator", "--job-types", "alpha")
	odd := "alpha-adhoc-y"
	document := "version: 1\njob_types:\n  " + odd + ":\n    handler: tidy\n    schedule: {every: 1d}\n"
	refused := g.as("boss").post("/validate?allow_unregistered=true", object{"document": document})
	assert.Equal(t, http.StatusUnprocessableEntity, refused.status, "%v", refused.body)
	begin := func(name string) string {
		policy := jobtype.DefaultPolicy().WithDefaults()
		run, err := g.Client.Runs().StartDryRun(t.Context(), contract.JobTypeSpec{Name: name, Handler: "tidy", Lane: "default", LaneShared: true, Policy: policy}, "x")
		require.NoError(t, err)
		return run.WorkflowID
	}
	// Runs of these job types from an earlier version, as the server has them.
	for _, name := range []string{odd, "alpha-detect-z"} {
		id := begin(name)
		run := contract.RunKey(id)
		for _, path := range []string{"/runs/" + run, "/runs/" + run + "/items", "/explain?thing=" + url.QueryEscape(id)} {
			status, body := g.raw("scoped", "/api/v1"+path, nil)
			assert.Equal(t, http.StatusForbidden, status, "%s: %s", path, body)
		}
		a := g.as("scoped").post("/runs/"+run+"/cancel", object{})
		assert.Equal(t, http.StatusForbidden, a.status, "%v", a.body)
		assert.Equal(t, http.StatusAccepted, g.as("boss").post("/runs/"+run+"/cancel", object{}).status)
	}
	own := contract.RunKey(begin("alpha"))
	assert.Equal(t, http.StatusAccepted, g.as("scoped").post("/runs/"+own+"/cancel", object{}).status)
}
