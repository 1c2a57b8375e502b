package gatewaye2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// documented is a caller that checks each answer against docs/openapi.yaml.
type documented struct {
	*remote
	schemas *jsonschema.Compiler
	// asked counts the successes of each operation, by method and path.
	asked map[string]int
}

func newDocumented(t *testing.T, address string) documented {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var read any
	require.NoError(t, yaml.Unmarshal(text, &read))
	encoded, err := json.Marshal(read)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	schemas := jsonschema.NewCompiler()
	schemas.AssertFormat()
	require.NoError(t, schemas.AddResource("api.json", document))
	return documented{&remote{t: t, base: "http://" + address + "/api/v1"}, schemas, map[string]int{}}
}

// ask sends a request to an operation and returns its answer. values replace the names in braces in turn.
func (d documented) ask(method, path string, body any, status int, values ...string) answer {
	d.t.Helper()
	pattern, query, _ := strings.Cut(path, "?")
	filled := pattern
	for _, value := range values {
		open, end := strings.IndexByte(filled, '{'), strings.IndexByte(filled, '}')
		filled = filled[:open] + url.PathEscape(value) + filled[end+1:]
	}
	if query != "" {
		filled += "?" + query
	}
	a := d.answered(method, filled, body)
	require.Equal(d.t, status, a.status, "%s %s: %v", method, filled, a.body)
	code, kind := strconv.Itoa(status), "json"
	if status >= 400 {
		code, kind = "default", "problem+json"
	} else {
		d.asked[method+" "+pattern]++
	}
	if method == http.MethodGet && status == http.StatusOK {
		assert.NotEmpty(d.t, a.header.Get("ETag"), filled)
	}
	if status == http.StatusNoContent {
		assert.Empty(d.t, a.body, filled)
		return a
	}
	assert.Equal(d.t, "application/"+kind, a.header.Get("Content-Type"), filled)
	pointer := "/paths/" + escape(pattern) + "/" + strings.ToLower(method) + "/responses/" + code + "/content/application~1" + kind + "/schema"
	schema, err := d.schemas.Compile("api.json#" + (&url.URL{Path: pointer}).EscapedPath())
	require.NoError(d.t, err)
	require.NoError(d.t, schema.Validate(a.body), "%s %s: %v", method, filled, a.body)
	return a
}

// answered sends a request. It repeats a read that the API could not answer in time, as a client does: the machine may be
// busy.
func (d documented) answered(method, path string, body any) (a answer) {
	d.t.Helper()
	testsuite.WaitFor(d.t, time.Minute, "an answer to "+method+" "+path, func() bool {
		var err error
		a, err = d.send(d.t.Context(), method, path, body)
		require.NoError(d.t, err)
		late := a.status == http.StatusGatewayTimeout
		return method != http.MethodGet || !late
	})
	return a
}

// with is the same caller with more headers.
func (d documented) with(header ...string) documented {
	other := *d.remote
	other.header = http.Header{}
	for i := 0; i < len(header); i += 2 {
		other.header.Set(header[i], header[i+1])
	}
	d.remote = &other
	return d
}

func escape(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
}

func list(a answer, name string) (found []object) {
	all, _ := a.body[name].([]any)
	for _, each := range all {
		one, _ := each.(object)
		found = append(found, one)
	}
	return found
}

// TestRunsAndItems shows and steers a group and a run of a DAG by HTTP alone.
func TestRunsAndItems(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	s.apply(jobType("tidy", "tidy", ""))
	api := newDocumented(t, address)
	worker := s.join(address, "r1")
	ref := s.Begin("tidy")
	worker.detect("a", "b")
	key := contract.RunKey(ref.WorkflowID)
	testsuite.WaitFor(t, 30*time.Second, "both jobs are known", func() bool {
		return api.ask("GET", "/runs/{run}/items", nil, 200, key).body["total"] == float64(2)
	})
	job := worker.poll("jobs")
	require.Equal(t, http.StatusOK, job.status)

	run := api.ask("GET", "/runs/{run}", nil, 200, key)
	assert.Equal(t, ref.WorkflowID, run.text("workflow_id"))
	first := api.ask("GET", "/runs/{run}/items?limit=1", nil, 200, key)
	second := api.ask("GET", "/runs/{run}/items?limit=1&cursor="+first.text("next"), nil, 200, key)
	assert.Empty(t, second.text("next"))
	item, other := list(first, "items")[0], list(second, "items")[0]
	assert.NotEqual(t, item["id"], other["id"])
	assert.Equal(t, "BAD_CURSOR", api.ask("GET", "/runs/{run}/items?cursor="+first.text("next"), nil, 400, "scrub-1").text("code"))
	assert.Equal(t, "INVALID", api.ask("GET", "/runs/{run}/items?state=odd", nil, 422, key).text("code"))
	detail := api.ask("GET", "/runs/{run}/items/{item}", nil, 200, key, job.text("id"))
	assert.Len(t, list(detail, "attempts"), 1)
	api.ask("GET", "/runs/{run}/items/{item}/output", nil, 200, key, job.text("id"))
	api.ask("POST", "/runs/{run}/items/{item}/approve", object{}, 409, key, job.text("id"))
	api.ask("PATCH", "/runs/{run}", object{"global_execution_concurrency": 2}, 200, key)
	api.ask("POST", "/runs/{run}/pause", object{"note": "a test"}, 202, key)
	testsuite.WaitFor(t, 10*time.Second, "the run is paused", func() bool { return api.ask("GET", "/runs/{run}", nil, 200, key).body["paused"] == any(true) })
	api.ask("POST", "/runs/{run}/resume", nil, 202, key)
	api.ask("POST", "/runs/{run}/cancel", object{"reason": "a test"}, 202, key)
	canceled := worker.post("/leases/"+job.text("lease")+"/canceled", object{"message": "stopped"})
	assert.Equal(t, http.StatusOK, canceled.status, "%v", canceled.body)
	assert.Equal(t, contract.OutcomeCanceled, s.Result(ref).Outcome)
	assert.Equal(t, "ALREADY_ENDED", api.ask("POST", "/runs/{run}/cancel", object{}, 409, key).text("code"))

	file := filepath.Join(s.Dir, "gate.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nname: gate\ntasks:\n- id: ask\n  approval: {prompt: continue}\n"), 0o600))
	s.Command("start", "--as", "x", file)
	gate := contract.RunKey("dag/gate/x")
	api.ask("PATCH", "/runs/{run}", object{"concurrency": 2}, 200, gate)
	api.ask("PATCH", "/runs/{run}", object{"retry_limit": 2}, 422, gate)
	assert.Contains(t, api.ask("PATCH", "/runs/{run}", object{"concurrency.ask": 2}, 409, gate).text("detail"), "no fan-out")
	api.approveGate(s)

	var listed answer
	testsuite.WaitFor(t, 30*time.Second, "both runs are listed as ended", func() bool {
		listed = api.ask("GET", "/runs?outcome=completed,canceled&counts=true", nil, 200)
		return len(list(listed, "runs")) == 2
	})
	assert.EqualValues(t, 2, listed.body["total"])
	newest := api.ask("GET", "/runs?limit=1", nil, 200)
	oldest := api.ask("GET", "/runs?limit=1&cursor="+newest.text("next"), nil, 200)
	assert.Equal(t, "dag/gate/x", list(newest, "runs")[0]["workflow_id"])
	assert.Equal(t, ref.WorkflowID, list(oldest, "runs")[0]["workflow_id"])
	assert.Empty(t, oldest.text("next"))
	assert.Empty(t, list(api.ask("GET", "/runs?kind=dag&running=true", nil, 200), "runs"))
	api.ask("GET", "/runs/{run}", nil, 404, "gate~y")
}

// approveGate approves the run dag/gate/x to its end. A retry of that run is then refused.
func (d documented) approveGate(_ *site) {
	d.t.Helper()
	const run = "gate~x"
	testsuite.WaitFor(d.t, 30*time.Second, "the task waits for its approval", func() bool {
		items := list(d.ask("GET", "/runs/{run}/items", nil, 200, run), "items")
		return len(items) == 1 && items[0]["state"] == "running"
	})
	d.ask("POST", "/runs/{run}/items/{item}/expire", object{}, 409, run, "ask")
	d.ask("POST", "/runs/{run}/items/{item}/rerun", nil, 409, run, "ask")
	d.ask("POST", "/runs/{run}/tasks", object{"tasks": []object{{"id": "later", "approval": object{"prompt": "this too"}, "needs": []string{"ask"}}}}, 200, run)
	d.ask("POST", "/runs/{run}/items/{item}/skip", object{"reason": "a test"}, 200, run, "later")
	d.ask("POST", "/runs/{run}/items/{item}/approve", object{"note": "fine"}, 200, run, "ask")
	testsuite.WaitFor(d.t, 30*time.Second, "the run has completed", func() bool {
		return d.ask("GET", "/runs/{run}", nil, 200, run).text("outcome") == "completed"
	})
	d.ask("GET", "/runs/{run}/items/{item}", nil, 200, run, "ask")
	assert.Equal(d.t, "REFUSED", d.ask("POST", "/runs/{run}/retry", object{}, 409, run).text("code"))
}
