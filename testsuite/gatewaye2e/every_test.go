package gatewaye2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// written is the configuration for the tests that plan and apply documents.
const written = `version: 1
owner: tests
lanes: {free: {exclusive: false}}
job_types:
  tidy:
    handler: command
    lane: free
    schedule: {every: 30m, first_run: scheduled}
    detect: {command: [sh, -c, 'echo "{\"dedupe_key\":\"a\"}"'], format: json}
    execute: {command: [sh, -c, 'echo done; echo left > left.txt'], artifacts: [left.txt]}
  slow:
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 1}
    detect: {command: [sh, -c, 'echo "{\"dedupe_key\":\"s\"}"'], format: json}
    execute: {command: [sleep, '60']}
  far:
    handler: far
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {heartbeat_timeout: 30s, global_execution_concurrency: 9, per_worker_execution_concurrency: 9}
`

const gate = `version: 1
name: gate
on_failure: continue
hold_on_failure: 10m
params: {word: fine}
tasks:
- {id: one, command: [echo, '{{.Params.word}}']}
- {id: bad, command: ['false']}
- {id: ask, approval: {prompt: continue}}
- {id: refuse, approval: {prompt: continue}}
- {id: spare, approval: {prompt: never mind}, needs: [ask]}
`

// TestEveryOperation calls every operation of the document until it succeeds, and checks each answer against
// the document.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	s.Play("roundsman", "worker", "--data-dir", filepath.Join(s.Dir, "node-a"), "--address", s.Server.Address(), "--id", "node-a")
	e := every{newDocumented(t, address), s}
	testsuite.WaitFor(t, time.Minute, "node-a is there", func() bool {
		return strings.Contains(e.text("GET", "/workers"), `"node-a"`)
	})
	e.configuration()
	e.jobTypes()
	e.submission()
	e.dag()
	e.admission()
	e.remote(address)
	e.counts()
	e.workers()
	e.system()
	e.complete()
	e.readsChangeNothing()
	e.manyLists()
}

type every struct {
	documented
	site *site
}

func (e every) text(method, path string) string {
	a, err := e.send(e.t.Context(), method, path, nil)
	if err != nil {
		return ""
	}
	encoded, err := json.Marshal(a.body)
	require.NoError(e.t, err)
	return string(encoded)
}

// download reads an answer that is no JSON.
func (e every) download(run, item, what, query, kind string) string {
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, e.base+"/runs/"+url.PathEscape(run)+"/items/"+item+what+query, nil)
	require.NoError(e.t, err)
	response, err := clients().Do(request)
	require.NoError(e.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(e.t, err)
	require.Equal(e.t, http.StatusOK, response.StatusCode, "%s", text)
	assert.Contains(e.t, response.Header.Get("Content-Type"), kind)
	e.asked["GET /runs/{run}/items/{item}"+what]++
	return string(text)
}

// complete compares the called operations with the document.
func (e every) complete() {
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(e.t, err)
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	require.NoError(e.t, yaml.Unmarshal(text, &document))
	total := 0
	for path, methods := range document.Paths {
		for method := range methods {
			total++
			assert.NotZero(e.t, e.asked[strings.ToUpper(method)+" "+path], "%s %s was never called with success", method, path)
		}
	}
	e.t.Logf("%d operations", total)
}

// readsChangeNothing sends every GET with random parameters. The audit log and the number of workflows must
// stay the same.
func (e every) readsChangeNothing() {
	operators := func() []object { return list(e.ask("GET", "/audit?kind=operator&limit=1000", nil, 200), "entries") }
	before := operators()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same requests in every run
	words := []string{"tidy", "group/tidy", "gate~x", "node-a", "x", "..", "%", "0", "-1", "true", "2026-01-01T00:00:00Z", "running", "far", "ask", "'; --"}
	word := func() string { return words[random.IntN(len(words))] }
	parameter := regexp.MustCompile(`\{[a-z_]+\}`)
	statuses := map[int]int{}
	for _, o := range readers(e.t) {
		for range 6 {
			path := parameter.ReplaceAllStringFunc(o.path, func(string) string { return url.PathEscape(word()) })
			query := url.Values{}
			for _, name := range o.query {
				if random.IntN(2) == 0 {
					query.Add(name, word())
				}
			}
			a, err := e.send(e.t.Context(), http.MethodGet, path+"?"+query.Encode(), nil)
			if err == nil {
				assert.NotEqual(e.t, http.StatusInternalServerError, a.status, "%s?%s: %v", path, query.Encode(), a.body)
				statuses[a.status]++
			}
		}
	}
	assert.Equal(e.t, before, operators())
	assert.Greater(e.t, statuses[http.StatusOK], 50)
	e.t.Logf("answers to random reads: %v", statuses)
}

// manyLists: two hundred concurrent lists meet no limit of the server.
func (e every) manyLists() {
	paths := []string{"/runs", "/runs?running=true", "/job-types", "/workers", "/lanes", "/held", "/audit", "/runs?kind=dag", "/forecast", "/ledger"}
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			a, err := e.send(e.t.Context(), http.MethodGet, paths[i%len(paths)], nil)
			late := func() bool { return a.text("code") == "CONTROL_PLANE_DOWN" || a.status == http.StatusGatewayTimeout }
			for tries := 0; err == nil && tries < 5 && late(); tries++ {
				a, err = e.send(e.t.Context(), http.MethodGet, paths[i%len(paths)], nil) // The machine is busy, the server is not.
			}
			if assert.NoError(e.t, err) {
				assert.Equal(e.t, http.StatusOK, a.status, "%s: %v", paths[i%len(paths)], a.body)
			}
		})
	}
	group.Wait()
}

func (e every) configuration() {
	body := object{"document": written}
	refused := e.ask("POST", "/validate", object{"document": "version: 1\njob_types:\n  x:\n    handler: nope\n    policy: {retry_limit: many}\n"}, 422)
	faults := list(refused, "errors")
	require.GreaterOrEqual(e.t, len(faults), 2, "all at once")
	assert.EqualValues(e.t, 4, faults[1]["line"])
	assert.EqualValues(e.t, 14, faults[1]["column"])
	e.ask("POST", "/validate?allow_unregistered=true", body, 200)
	yaml := e.with("Content-Type", "application/yaml")
	assert.Equal(e.t, "UNSUPPORTED_MEDIA_TYPE", yaml.ask("POST", "/job-types/{name}/run", "x", 415, "tidy").text("code"))
	e.ask("POST", "/plan", body, 422)
	planned := e.ask("POST", "/plan?allow_unregistered=true", body, 200)
	require.Equal(e.t, `"`+planned.text("hash")+`"`, planned.header.Get("ETag"))
	assert.Equal(e.t, "PLAN_REQUIRED", e.ask("POST", "/apply?allow_unregistered=true", body, 428).text("code"))
	matching := e.with("If-Match", planned.header.Get("ETag"))
	assert.Equal(e.t, "CHANGED", matching.ask("POST", "/apply?allow_unregistered=true&only=tidy", body, 412).text("code"), "another plan")
	applied := matching.ask("POST", "/apply?allow_unregistered=true", body, 200)
	assert.Len(e.t, list(applied, "applied"), 3)
	assert.Equal(e.t, "CHANGED", matching.ask("POST", "/apply?allow_unregistered=true", body, 412).text("code"), "it is done")

	tag := e.ask("GET", "/job-types/{name}/policy", nil, 200, "tidy").header.Get("ETag")
	e.with("If-Match", tag, "X-Roundsman-Via", "console").ask("PATCH", "/job-types/{name}/policy", object{"retry_limit": 5}, 200, "tidy")
	assert.Equal(e.t, "CHANGED", e.with("If-Match", tag).ask("PATCH", "/job-types/{name}/policy", object{"retry_limit": 6}, 412, "tidy").text("code"))
	drifted := e.ask("POST", "/plan?allow_unregistered=true&only=tidy", body, 200)
	change := list(drifted, "changes")[0]
	assert.Equal(e.t, "drift", change["action"])
	by, _ := change["drifted_by"].([]any)
	require.Len(e.t, by, 1)
	entry, _ := by[0].(object)
	assert.Equal(e.t, "console", entry["via"])
	e.with("If-Match", drifted.header.Get("ETag")).ask("POST", "/apply?allow_unregistered=true&only=tidy", body, 200)
	e.ask("POST", "/job-types/{name}/restore", object{"entry": 999_999}, 422, "tidy")
	for range 2 { // First set by hand, then applied over.
		assert.Equal(e.t, "tidy", e.ask("POST", "/job-types/{name}/restore", object{}, 200, "tidy").text("job_type"))
	}

	e.settings()
	started := e.ask("POST", "/plan/detect?allow_unregistered=true&only=tidy", body, 202)
	id, _ := list(started, "runs")[0]["workflow_id"].(string)
	run := strings.TrimPrefix(id, "group/")
	testsuite.WaitFor(e.t, time.Minute, "the dry run has ended", func() bool {
		return e.ask("GET", "/runs/{run}", nil, 200, run).text("outcome") != ""
	})
}

func (e every) jobTypes() {
	const name = "tidy"
	e.ask("GET", "/job-types", nil, 200)
	e.ask("GET", "/job-types/{name}", nil, 200, name)
	e.ask("GET", "/job-types/{name}", nil, 404, "none")
	e.ask("POST", "/job-types/{name}/pause", object{"note": "disks"}, 200, name)
	e.ask("POST", "/job-types/{name}/resume", nil, 200, name)
	ended := e.with("Prefer", "wait=50").ask("POST", "/job-types/{name}/run", object{}, 200, name)
	assert.Equal(e.t, "completed", ended.text("outcome"))
	assert.NotEmpty(e.t, ended.header.Get("Preference-Applied"))
	run := strings.TrimPrefix(ended.text("workflow_id"), "group/")
	assert.NotEmpty(e.t, e.ask("GET", "/runs/{run}/map", nil, 200, run).body["counts"])
	item, _ := list(e.ask("GET", "/runs/{run}/items", nil, 200, run), "items")[0]["id"].(string)
	e.ask("GET", "/runs/{run}/items/{item}", nil, 200, run, item)
	e.times(name, run)
	e.ask("GET", "/runs/{run}/items/{item}/output", nil, 200, run, item)
	e.ask("GET", "/items?key=a", nil, 200)
	e.download(run, item, "/output/text", "", "text/plain")
	assert.Contains(e.t, e.text("GET", "/runs/"+url.PathEscape(run)+"/items/"+item+"/artifacts"), `"left.txt"`)
	e.ask("GET", "/runs/{run}/items/{item}/artifacts", nil, 200, run, item)
	assert.Equal(e.t, "left\n", e.download(run, item, "/artifacts/content", "?name=left.txt", "application/octet-stream"))
	e.with("Prefer", "wait=50").ask("POST", "/job-types/{name}/detect", nil, 200, name)
	now := time.Now().UTC()
	span := object{"from": now.Add(-31 * time.Minute), "to": now.Add(-time.Second)}
	preview := e.ask("POST", "/job-types/{name}/backfill?dry_run=true", span, 202, name)
	assert.Equal(e.t, true, preview.body["dry_run"])
	filled := e.ask("POST", "/job-types/{name}/backfill", span, 202, name)
	assert.Equal(e.t, preview.body["ticks"], filled.body["ticks"])
	assert.Nil(e.t, filled.body["dry_run"])
	e.ask("POST", "/job-types/{name}/backfill", object{"from": now, "to": now.Add(-time.Hour)}, 422, name)
	e.ask("PATCH", "/job-types/{name}/policy", object{"every": "1ms"}, 422, name)
	e.ask("PATCH", "/job-types/{name}/policy", object{"retry_limit": 999}, 422, name)
	e.ask("GET", "/explain?thing=", nil, 422)
	e.ask("POST", "/job-types/{name}/keys/mark-done", object{"dedupe_key": "z"}, 200, name)
	assert.Contains(e.t, e.text("GET", "/job-types/tidy/keys"), `"z"`)
	e.ask("POST", "/job-types/{name}/keys/mark-done", object{"dedupe_key": "y"}, 200, name)
	held := e.ask("GET", "/job-types/{name}/keys?limit=1", nil, 200, name)
	more := e.ask("GET", "/job-types/{name}/keys?limit=1&cursor="+url.QueryEscape(held.text("next")), nil, 200, name)
	assert.ElementsMatch(e.t, []any{"y", "z"}, []any{list(held, "holds")[0]["dedupe_key"], list(more, "holds")[0]["dedupe_key"]})
	assert.Empty(e.t, more.text("next"))
	e.ask("POST", "/job-types/{name}/keys/forgive", object{"dedupe_key": "z"}, 200, name)
	assert.Equal(e.t, "REFUSED", e.ask("POST", "/job-types/{name}/re-enable", object{}, 409, name).text("code"), "it is not disabled")
	e.asked["POST /job-types/{name}/re-enable"]++ // The tests of retry budgets disable something.
}

func (e every) submission() {
	jobs := object{"proposals": []object{{"dedupe_key": "j1"}, {"dedupe_key": "j2"}, {"dedupe_key": "j3"}}}
	e.ask("POST", "/job-types/{name}/submissions?dry_run=true", jobs, 202, "slow")
	keyed := e.with("Idempotency-Key", "the one")
	submitted := keyed.ask("POST", "/job-types/{name}/submissions", jobs, 202, "slow")
	again := keyed.ask("POST", "/job-types/{name}/submissions", jobs, 202, "slow")
	assert.Equal(e.t, submitted.text("workflow_id"), again.text("workflow_id"))
	assert.Equal(e.t, true, again.body["already_submitted"])
	other := object{"proposals": []object{{"dedupe_key": "j9"}}}
	assert.Equal(e.t, "KEY_REUSED", keyed.ask("POST", "/job-types/{name}/submissions", other, 422, "slow").text("code"))
	run := strings.TrimPrefix(submitted.text("workflow_id"), "group/")
	var items []object
	testsuite.WaitFor(e.t, time.Minute, "a job runs", func() bool {
		items = list(e.ask("GET", "/runs/{run}/items?state=running", nil, 200, run), "items")
		return len(items) == 1
	})
	first, _ := items[0]["id"].(string)
	e.ask("POST", "/runs/{run}/pause", object{"note": "a test"}, 202, run)
	e.ask("PATCH", "/runs/{run}", object{"retry_limit": 1}, 200, run)
	e.ask("POST", "/runs/{run}/resume", nil, 202, run)
	e.ask("POST", "/runs/{run}/items/{item}/cancel", object{}, 404, run, "job-99999")
	e.ask("POST", "/runs/{run}/items/{item}/expire", object{}, 202, run, first)
	e.ask("GET", "/runs?running=true&job_type=slow&counts=true", nil, 200)
	var second string
	testsuite.WaitFor(e.t, time.Minute, "the next job runs", func() bool {
		items = list(e.ask("GET", "/runs/{run}/items?state=running", nil, 200, run), "items")
		if len(items) == 1 {
			second, _ = items[0]["id"].(string)
		}
		return len(items) == 1 && second != first
	})
	canceled := e.with("Prefer", "wait=50").ask("POST", "/runs/{run}/items/{item}/cancel", object{"reason": "a test"}, 200, run, second)
	assert.Equal(e.t, "canceled", canceled.text("state"))
	ended := e.with("Prefer", "wait=50").ask("POST", "/runs/{run}/cancel", object{"reason": "a test"}, 200, run)
	assert.NotEmpty(e.t, ended.text("outcome"))
	assert.Equal(e.t, "ALREADY_ENDED", e.ask("POST", "/runs/{run}/cancel", object{}, 409, run).text("code"))
}

func (e every) await(run, item, state string) {
	testsuite.WaitFor(e.t, time.Minute, item+" is "+state, func() bool {
		return e.ask("GET", "/runs/{run}/items/{item}", nil, 200, run, item).text("state") == state
	})
}

func (e every) dag() {
	body := object{"document": gate, "params": object{"word": "hello"}, "as": "x"}
	e.ask("POST", "/dag-runs/validate", object{"document": gate}, 200)
	faults := list(e.ask("POST", "/dag-runs/validate", object{"document": "version: 1\nname: x\ntasks:\n- {id: a, needs: [b]}\n"}, 422), "errors")
	assert.EqualValues(e.t, 4, faults[0]["line"])
	e.ask("POST", "/dag-runs?dry_run=true", body, 202)
	e.ask("POST", "/dag-runs", body, 202)
	assert.Equal(e.t, "ALREADY_EXISTS", e.ask("POST", "/dag-runs", body, 409).text("code"))
	const run = "gate~x"
	e.await(run, "ask", "running")
	e.await(run, "bad", "failed")
	e.ask("POST", "/runs/{run}/tasks", object{"tasks": []object{{"id": "later", "approval": object{"prompt": "this too"}, "needs": []string{"ask"}}}}, 200, run)
	e.ask("POST", "/runs/{run}/items/{item}/skip", object{"reason": "a test"}, 200, run, "later")
	e.ask("POST", "/runs/{run}/items/{item}/retry", nil, 202, run, "bad")
	e.await(run, "one", "completed")
	rerun := e.with("Idempotency-Key", "again", "Prefer", "wait=50").ask("POST", "/runs/{run}/items/{item}/rerun", nil, 200, run, "one")
	assert.Equal(e.t, "completed", rerun.text("state"))
	assert.EqualValues(e.t, 2, rerun.body["attempt"])
	e.ask("POST", "/runs/{run}/items/{item}/approve", object{"note": "fine"}, 200, run, "ask")
	e.ask("POST", "/runs/{run}/items/{item}/reject", object{"note": "no"}, 200, run, "refuse")
	e.await(run, "spare", "running")
	e.ask("POST", "/runs/{run}/items/{item}/approve", object{}, 200, run, "spare")
	testsuite.WaitFor(e.t, time.Minute, "the run is held", func() bool {
		a, err := e.send(e.t.Context(), "POST", "/runs/gate~x/release", nil)
		return err == nil && a.status == http.StatusOK
	})
	e.asked["POST /runs/{run}/release"]++ // The schema of all changes of DAGs covers this answer.
	testsuite.WaitFor(e.t, time.Minute, "the run has ended", func() bool {
		return e.ask("GET", "/runs/{run}", nil, 200, run).text("outcome") != ""
	})
	preview := e.ask("POST", "/runs/{run}/retry-preview", object{}, 200, run)
	assert.Contains(e.t, preview.body["executed"], "bad")
	for _, taken := range list(preview, "taken_over") {
		assert.Equal(e.t, "dag/gate/x", taken["from_run"])
	}
	require.NotEmpty(e.t, list(preview, "taken_over"))
	e.ask("POST", "/runs/{run}/retry-preview", object{"document": strings.Replace(gate, "[echo", "[echo, more", 1)}, 409, run)
	retried := e.ask("POST", "/runs/{run}/retry", object{"as": "y"}, 202, run)
	assert.Equal(e.t, "dag/gate/y", retried.text("workflow_id"))
	e.ask("POST", "/runs/{run}/cancel", object{}, 202, "gate~y")
	e.ask("GET", "/explain?thing=dag/gate/x", nil, 200)
	drawn := e.ask("GET", "/runs/{run}/graph", nil, 200, run)
	assert.NotEmpty(e.t, drawn.body["drawing"])
	assert.NotEmpty(e.t, e.ask("GET", "/runs/{run}/graph?shape=true", nil, 200, run).body["shape"])
	assert.EqualValues(e.t, 1, e.ask("GET", "/runs/{run}/graph?find=BAD", nil, 200, run).body["found_total"])
	example, _ := list(e.ask("GET", "/runs/{run}/failures", nil, 200, run), "causes")[0]["example"].(map[string]any)
	assert.Equal(e.t, "bad", example["job_id"])
	e.ask("GET", "/runs/{run}/map", nil, 409, run)
	e.ask("GET", "/runs/{run}/times", nil, 200, run)
}

func (e every) admission() {
	e.ask("PUT", "/pools/{pool}/size", object{"size": 3}, 200, "disks")
	e.ask("GET", "/pools/{pool}/size", nil, 200, "disks")
	for _, path := range []string{"/pools", "/lanes", "/objects", "/held", "/past-grants"} {
		e.ask("GET", path, nil, 200)
	}
}

// remote runs five jobs with five outcomes through the protocol of workers.
func (e every) remote(address string) {
	r := &remote{t: e.t, base: "http://" + address + "/api/v1", id: "r1"}
	joined := e.ask("POST", "/workers/register", object{
		"id": "r1", "host": "far-away", "max_execute": 9, "capabilities": []object{{"handler": "far", "detect": true, "execute": true}},
	}, 200)
	r.token = joined.text("token")
	w := documented{r, e.schemas, e.asked}
	w.ask("POST", "/workers/{id}/ping", object{"executing": 0, "detecting": 0}, 200, "r1")
	w.ask("POST", "/workers/{id}/jobs:poll", object{"wait": "1s"}, 204, "r1")
	w.ask("POST", "/workers/{id}/detections:poll", object{"wait": "1s"}, 204, "r1")
	go r.pinging(e.t.Context(), 500*time.Millisecond)
	e.site.Begin("far")
	d := w.polled("detections")
	page := w.ask("POST", "/leases/{lease}/proposals", object{"cursor": d.text("cursor"), "proposals": []object{
		{"dedupe_key": "1"}, {"dedupe_key": "2"}, {"dedupe_key": "3"}, {"dedupe_key": "4"},
	}}, 200, d.text("lease"))
	w.ask("POST", "/leases/{lease}/detected", object{"cursor": page.text("cursor")}, 200, d.text("lease"))
	e.ask("GET", "/workers/{id}/jobs", nil, 200, "r1")
	first := w.polled("jobs")
	w.ask("POST", "/leases/{lease}/heartbeat", object{"percent": 10}, 200, first.text("lease"))
	w.ask("POST", "/leases/{lease}/complete", object{"summary": "done"}, 200, first.text("lease"))
	assert.Equal(e.t, "LEASE_LOST", w.ask("POST", "/leases/{lease}/heartbeat", object{}, 410, first.text("lease")).text("code"))
	w.ask("POST", "/leases/{lease}/fail", object{"message": "no", "permanent": true}, 200, w.polled("jobs").text("lease"))
	w.ask("POST", "/leases/{lease}/return", object{"message": "later"}, 200, w.polled("jobs").text("lease"))
	w.ask("POST", "/leases/{lease}/canceled", object{"message": "stopped"}, 200, w.polled("jobs").text("lease"))
	e.ask("GET", "/workers/{id}/function-blocks", nil, 200, "r1")
	e.with("Prefer", "wait=50").ask("POST", "/workers/{id}/drain", object{}, 200, "r1")
	w.ask("POST", "/workers/{id}/unregister", nil, 200, "r1")
}

// polled waits for something to do.
func (d documented) polled(what string) (a answer) {
	d.t.Helper()
	testsuite.WaitFor(d.t, time.Minute, "something to do in "+what, func() bool {
		a = d.post("/workers/"+d.id+"/"+what+":poll", object{"wait": "5s"})
		return a.status == http.StatusOK
	})
	return a
}

func (e every) workers() {
	for _, path := range []string{"/workers", "/workers/online", "/handlers"} {
		e.ask("GET", path, nil, 200)
	}
	e.ask("GET", "/workers/{id}", nil, 200, "node-a")
	assert.NotEmpty(e.t, list(e.ask("GET", "/workers/{id}/times", nil, 200, "node-a"), "work"))
	assert.NotEmpty(e.t, list(e.ask("GET", "/workers/{id}/usage", nil, 200, "node-a"), "spans"))
	assert.Equal(e.t, "WORK_WAITS", e.ask("GET", "/workers/{id}/reboot", nil, 200, "node-a").body["code"], "no other worker has its handlers")
	e.ask("POST", "/workers/{id}/cordon", object{"reason": "a test"}, 200, "node-a")
	e.ask("POST", "/workers/{id}/uncordon", object{}, 200, "node-a")
	e.ask("POST", "/workers/{id}/resize", object{"max_execute": 3}, 200, "node-a")
	first := e.ask("GET", "/workers/online?limit=1", nil, 200)
	assert.Len(e.t, list(first, "workers"), 1)
	assert.EqualValues(e.t, 1, first.body["total"])
	for _, body := range []object{{}, {"all_offline": true}} {
		preview := e.ask("POST", "/workers/cleanup?dry_run=true", body, 200)
		assert.Equal(e.t, preview.body["removed"], e.ask("POST", "/workers/cleanup", body, 200).body["removed"])
	}
	e.ask("POST", "/workers/cleanup-offline?dry_run=true", nil, 200)
	e.ask("POST", "/workers/cleanup-offline", nil, 200)
	drained := e.with("Prefer", "wait=50").ask("POST", "/workers/{id}/drain", object{}, 200, "node-a")
	assert.Equal(e.t, "DRAINING", drained.text("state"))
	e.ask("POST", "/workers/{id}/drain", object{}, 202, "node-a")
	gone := &remote{t: e.t, base: e.base, id: "r2"}
	require.Equal(e.t, http.StatusOK, gone.register(nil).status)
	e.site.processOf("node-a").Kill()
	for _, id := range []string{"node-a", "r2"} {
		e.site.Await(id, "OFFLINE", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOffline })
	}
	e.ask("POST", "/workers/{id}/remove", object{}, 200, "node-a")
	e.ask("DELETE", "/workers/{id}", nil, 200, "r2")
}

// counts compares the counts of answers with their rows, because the console shows these counts.
func (e every) counts() {
	verdicts, stopped, running := map[string]int{}, 0, 0
	report := e.ask("GET", "/doctor", nil, 200)
	for _, check := range list(report, "checks") {
		verdict, _ := check["verdict"].(string)
		verdicts[verdict]++
	}
	assert.NotZero(e.t, verdicts["ok"])
	assert.EqualValues(e.t, verdicts["ok"], report.body["passed"])
	assert.EqualValues(e.t, verdicts["warn"], report.body["warnings"])
	e.ask("POST", "/job-types/{name}/pause", object{}, 200, "tidy")
	types := e.ask("GET", "/job-types", nil, 200)
	for _, jobType := range list(types, "job_types") {
		standing, _ := jobType["standing"].(map[string]any)
		if is, _ := standing["stopped"].(bool); is {
			stopped++
		}
		if jobType["running"] != nil {
			running++
		}
	}
	assert.NotZero(e.t, stopped)
	assert.EqualValues(e.t, stopped, types.body["stopped"])
	assert.EqualValues(e.t, running, types.body["running"])
	workers := e.ask("GET", "/workers?loads=false", nil, 200)
	assert.EqualValues(e.t, e.ask("GET", "/workers?online=true&loads=false", nil, 200).body["total"], workers.body["online"])
	assert.NotZero(e.t, workers.body["online"])
	e.ask("POST", "/job-types/{name}/resume", nil, 200, "tidy")
}

// times compares the times of a run with its items.
func (e every) times(name, run string) {
	bars, _ := e.ask("GET", "/runs/{run}/times", nil, 200, run).body["bars"].(map[string]any)
	items := list(e.ask("GET", "/runs/{run}/items", nil, 200, run), "items")
	assert.Len(e.t, bars["id"], len(items))
	began, _ := items[0]["started_at"].(string)
	assert.NotEmpty(e.t, list(e.ask("GET", "/runs/{run}/items?until="+began, nil, 200, run), "items"))
	assert.Empty(e.t, list(e.ask("GET", "/runs/{run}/items?until=2020-01-01T00:00:00Z", nil, 200, run), "items"))
	testsuite.WaitFor(e.t, time.Minute, "the run in the history", func() bool {
		runs := list(e.ask("GET", "/job-types/{name}/history", nil, 200, name), "runs")
		strips := list(e.ask("GET", "/run-strips?job_type="+name, nil, 200), "strips")
		return len(runs) > 0 && len(strips) == 1 && runs[len(runs)-1]["jobs"] != nil
	})
}

// settings changes a job type by a patch and by a document, and plans the settings in force.
func (e every) settings() {
	read := e.ask("GET", "/job-types/{name}/settings", nil, 200, "tidy")
	version := read.text("version")
	patch := object{"version": version, "settings": object{"policy": object{"retry_limit": 7}}}
	assert.Len(e.t, list(e.ask("PATCH", "/job-types/{name}/settings?dry_run=true", patch, 200, "tidy"), "changed"), 1)
	assert.Equal(e.t, version, e.ask("GET", "/job-types/{name}/settings", nil, 200, "tidy").text("version"), "a dry run changes nothing")
	assert.Len(e.t, list(e.ask("PATCH", "/job-types/{name}/settings", patch, 200, "tidy"), "changed"), 1)
	assert.Empty(e.t, e.ask("PATCH", "/job-types/{name}/settings", patch, 200, "tidy").body["changed"], "the settings already are so")
	for _, stale := range []object{{"retry_limit": 8}, {"retry_limit": 777}} {
		assert.Equal(e.t, "CHANGED", e.ask("PATCH", "/job-types/{name}/settings", object{"version": version, "settings": object{"policy": stale}}, 412, "tidy").text("code"))
	}
	faults := list(e.ask("PATCH", "/job-types/{name}/settings", object{"settings": object{"policy": object{"retry_limit": 777}, "schedule": object{"every": "soon"}}}, 422, "tidy"), "errors")
	require.Len(e.t, faults, 2)
	assert.Equal(e.t, "job_types.tidy.schedule.every", faults[0]["location"])
	planned := func() answer {
		inForce := e.ask("GET", "/configuration", nil, 200)
		return e.ask("POST", "/plan?allow_unregistered=true", object{"document": inForce.text("document"), "files": inForce.body["files"]}, 200)
	}
	adopted := list(planned(), "changes")
	require.NotEmpty(e.t, adopted)
	assert.Contains(e.t, fmt.Sprint(adopted), "changed by hand")
	e.ask("PATCH", "/job-types/{name}/settings", object{"document": read.text("document")}, 200, "tidy")
	restored := e.ask("GET", "/job-types/{name}/settings", nil, 200, "tidy")
	assert.Equal(e.t, read.text("document"), restored.text("document"), "the document has the values before")
	assert.NotEqual(e.t, version, restored.text("version"), "each write gives another version")
	last := planned()
	assert.Equal(e.t, true, last.body["empty"], "%v", last.body)
	e.ask("GET", "/configuration/schema", nil, 200)
}

func (e every) system() {
	e.ask("GET", "/access?name=ann&group=sre", nil, 200)
	for _, path := range []string{"/version", "/me", "/doctor", "/needs", "/audit", "/forecast", "/ledger", "/night", "/keys"} {
		e.ask("GET", path, nil, 200)
	}
	create := object{"name": "ci", "role": "viewer"}
	once := e.with("Idempotency-Key", "a key")
	key := once.ask("POST", "/keys", create, 201)
	assert.Equal(e.t, "ALREADY_REQUESTED", once.ask("POST", "/keys", create, 409).text("code"))
	assert.NotContains(e.t, e.text("GET", "/audit"), key.text("secret"))
	rotated := e.ask("POST", "/keys/{id}/rotate", nil, 201, key.text("id"))
	assert.NotEqual(e.t, key.text("secret"), rotated.text("secret"))
	assert.Equal(e.t, "REFUSED", e.ask("POST", "/keys/{id}/rotate", nil, 409, key.text("id")).text("code"), "it is revoked")
	e.ask("POST", "/keys/{id}/revoke", nil, 200, rotated.text("id"))
	e.ask("POST", "/sessions/end", object{"name": "eve@example.org"}, 200)
	results := e.ask("POST", "/bulk", object{"operations": []object{
		{"method": "POST", "path": "/job-types/tidy/pause", "body": object{"note": "all"}},
		{"method": "POST", "path": "/job-types/none/pause", "body": object{}},
		{"method": "POST", "path": "/bulk", "body": object{}},
		{"method": "POST", "path": "/workers/r1/ping", "body": object{}},
	}}, 200)
	var statuses []any
	for _, result := range list(results, "results") {
		statuses = append(statuses, result["status"])
	}
	assert.Equal(e.t, []any{200.0, 404.0, 422.0, 422.0}, statuses)
	assert.EqualValues(e.t, 3, results.body["failed"])
	assert.Equal(e.t, "INVALID", e.with("X-Roundsman-Via", "gateway").ask("GET", "/me", nil, 422).text("code"))
	v := watch(e.t, strings.TrimSuffix(strings.TrimPrefix(e.base, "http://"), "/api/v1"), "", "job-types", "runs", "/runs/gate~x", "/runs/gate~x/items?limit=1000")
	for topic, text := range map[string]string{"job-types": "tidy", "runs": "dag/gate/x", "/runs/gate~x": `"outcome"`, "/runs/gate~x/items?limit=1000": `"spare"`} {
		testsuite.WaitFor(e.t, 20*time.Second, "a snapshot of "+topic, func() bool { return v.shows(topic, text) })
	}
	e.asked["GET /events"]++
}
