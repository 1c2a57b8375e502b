package gatewaye2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// guarded is a site whose API authenticates callers by keys and by sessions.
type guarded struct {
	*site
	address string
	// keys are the secrets by key name. secrets are all values that must never appear.
	keys    map[string]string
	secrets []string
	// cookie is a session of eve@example.org, a viewer.
	cookie string
}

const accessConfig = `access:
  keys: true
  secret_file: %s
  bindings:
    - {subject: eve@example.org, role: viewer}
  oidc:
    issuer: https://127.0.0.1:1
    client_id: roundsman
    client_secret_file: %s
    redirect_url: https://roundsman.example.org/auth/callback
    groups: [sre]
job_types: {}
`

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{site: newSite(t), address: sites.FreeAddress(t), keys: map[string]string{}}
	secret, client := []byte(rand.Text()+rand.Text()), rand.Text()
	g.secrets = append(g.secrets, string(secret), client)
	files := []string{filepath.Join(g.Dir, "secret"), filepath.Join(g.Dir, "client")}
	require.NoError(t, os.WriteFile(files[0], secret, 0o600))
	require.NoError(t, os.WriteFile(files[1], []byte(client), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(g.Dir, "fleet.yaml"), fmt.Appendf(nil, sites.Scaled+accessConfig, files[0], files[1]), 0o600))
	sessions, err := auth.NewSessions(secret, time.Now)
	require.NoError(t, err)
	g.cookie, err = sessions.Close(auth.Person{Name: "eve@example.org", Groups: []string{"sre"}})
	require.NoError(t, err)
	g.secrets = append(g.secrets, g.cookie)
	g.serve(g.address, "server", "--http", g.address, "--log-level", "debug")
	return g
}

// key creates a key with the command and returns its id.
func (g *guarded) key(name string, more ...string) (id string) {
	g.T.Helper()
	var made struct{ ID, Secret string }
	require.NoError(g.T, json.Unmarshal([]byte(g.Command(append([]string{"keys", "create", "--output", "json"}, append(more, name)...)...)), &made))
	require.True(g.T, strings.HasPrefix(made.Secret, "rmk_"))
	// The command prints it once, and its output is no log.
	g.Processes = g.Processes[:len(g.Processes)-1]
	g.keys[name] = made.Secret
	g.secrets = append(g.secrets, made.Secret)
	return made.ID
}

func (g *guarded) as(name string) *remote {
	return &remote{t: g.T, base: "http://" + g.address + "/api/v1", token: g.keys[name]}
}

// worker registers and pings until the test ends.
func (g *guarded) worker(name, id string) *remote {
	g.T.Helper()
	r := g.as(name)
	r.id = id
	a := r.register(nil)
	require.Equal(g.T, http.StatusOK, a.status, "%v", a.body)
	g.secrets = append(g.secrets, r.token)
	go r.pinging(g.T.Context(), 500*time.Millisecond)
	g.Await(id, "fresh", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	return r
}

// raw returns the answer to a GET unchanged.
func (g *guarded) raw(name, path string, edit func(*http.Request)) (status int, body string) {
	g.T.Helper()
	request, err := http.NewRequestWithContext(g.T.Context(), http.MethodGet, "http://"+g.address+path, http.NoBody)
	require.NoError(g.T, err)
	if name != "" {
		request.Header.Set("Authorization", "Bearer "+g.keys[name])
	}
	if edit != nil {
		edit(request)
	}
	response, err := clients().Do(request)
	require.NoError(g.T, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(g.T, err)
	return response.StatusCode, string(read)
}

// applied are two job types that share a lane: one holds the lane, the other waits.
const applied = `  alpha:
    handler: tidy
    lane: default
    schedule: {every: 365d, first_run: scheduled}
  secretive:
    handler: tidy
    lane: default
    schedule: {every: 365d, first_run: scheduled}
    policy: {interactive: true}
`

// neighbours makes a run of secretive with the lane, a run of alpha that waits for it, a run of the DAG
// hidden-dag, and requests of operators to them. It returns the runs' keys.
func (g *guarded) neighbours(worker *remote) (alpha, secretive string) {
	g.T.Helper()
	g.apply(applied)
	holds := g.Begin("secretive")
	worker.detect("secretive-object")
	require.Equal(g.T, http.StatusOK, worker.poll("jobs").status)
	waits := g.Begin("alpha")
	testsuite.WaitFor(g.T, time.Minute, "alpha waits for the lane", func() bool {
		_, body := g.raw("boss", "/api/v1/lanes", nil)
		return strings.Contains(body, holds.WorkflowID) && strings.Contains(body, waits.WorkflowID)
	})
	file := filepath.Join(g.Dir, "hidden.yaml")
	require.NoError(g.T, os.WriteFile(file, []byte("version: 1\nname: hidden-dag\ntasks:\n- id: ask\n  approval: {prompt: continue}\n"), 0o600))
	g.Command("start", "--as", "x", file)
	root := g.as("boss")
	for _, name := range []string{"alpha", "secretive"} {
		require.Equal(g.T, http.StatusOK, root.post("/job-types/"+name+"/pause", object{"note": "for " + name}).status)
		a := root.post("/job-types/"+name+"/keys/mark-done", object{"dedupe_key": name + "-key"})
		require.Equal(g.T, http.StatusOK, a.status, "%v", a.body)
	}
	testsuite.WaitFor(g.T, time.Minute, "both runs and the DAG's are listed", func() bool {
		_, body := g.raw("boss", "/api/v1/runs", nil)
		return strings.Contains(body, holds.WorkflowID) && strings.Contains(body, waits.WorkflowID) && strings.Contains(body, "hidden-dag")
	})
	return contract.RunKey(waits.WorkflowID), contract.RunKey(holds.WorkflowID)
}

// operation is one of the document.
type operation struct {
	path, id string
	query    []string
}

// readers are all GET operations of docs/openapi.yaml.
func readers(t *testing.T) (all []operation) {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
			Parameters  []struct{ Name, In string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &document))
	for path, methods := range document.Paths {
		get, has := methods["get"]
		if !has || get.OperationID == "watch-events" {
			continue
		}
		one := operation{path: path, id: get.OperationID}
		for _, parameter := range get.Parameters {
			if parameter.In == "query" {
				one.query = append(one.query, parameter.Name)
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path, b.path) })
	require.Greater(t, len(all), 25)
	return all
}

// filled replaces the names in braces in a path.
func (o operation) filled(names map[string]string) string {
	path := o.path
	for name, value := range names {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	return path
}

// TestAccess shares one site among tests that use all its processes.
func TestAccess(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.key("scoped", "--role", "operator", "--job-types", "alpha*", "--dags", "alpha*")
	g.key("viewer")
	ids := map[string]string{"ann": g.key("ann", "--role", "operator"), "bob": g.key("bob", "--role", "operator")}
	ids["far"] = g.key("far", "--role", "worker", "--worker", "far-1")
	g.key("fleet", "--role", "worker")
	worker := g.worker("far", "far-1")
	alpha, secretive := g.neighbours(worker)
	g.foreign()
	g.boundKeys(worker)
	g.namesOfOthers(alpha, secretive)
	g.readingChangesNothing(secretive)
	g.refusals()
	g.dryRunsOfSettings()
	g.twoPeople()
	g.everyWriteIsSigned()
	g.revoked(ids, worker)
	g.nothingIsLeaked()
}

// dryRunsOfSettings: a dry run is refused where the change would be.
func (g *guarded) dryRunsOfSettings() {
	g.T.Helper()
	for settings, status := range map[string]int{`{"policy": {"retry_limit": 7}}`: http.StatusOK, `{"schedule": {"cron": ["0 3 * * *"], "every": null}}`: http.StatusForbidden} {
		for _, path := range []string{"/job-types/alpha/settings?dry_run=true", "/job-types/alpha/settings"} {
			a, err := g.as("ann").send(g.T.Context(), http.MethodPatch, path, object{"settings": json.RawMessage(settings)})
			require.NoError(g.T, err)
			assert.Equal(g.T, status, a.status, "%s %s: %v", path, settings, a.body)
		}
	}
}

// foreign: requests from pages of other sites, and with host names of other servers, are refused.
func (g *guarded) foreign() {
	g.T.Helper()
	for name, edit := range map[string]func(*http.Request){
		"Host":           func(r *http.Request) { r.Host = "evil.example" },
		"Origin":         func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"Sec-Fetch-Site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		for _, path := range []string{"/api/v1/me", "/workers", "/"} {
			status, body := g.raw("boss", path, edit)
			assert.Equal(g.T, http.StatusForbidden, status, "%s %s: %s", name, path, body)
		}
	}
	status, _ := g.raw("", "/api/v1/me", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: auth.CookieName, Value: g.cookie}) })
	assert.Equal(g.T, http.StatusOK, status, "a session")
	for _, wrong := range []string{"rmk_0123456789_" + rand.Text(), "rmw_" + rand.Text(), "eyJ." + rand.Text() + ".x"} {
		g.secrets = append(g.secrets, wrong)
		status, _ := g.raw("", "/api/v1/me", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+wrong) })
		assert.Equal(g.T, http.StatusUnauthorized, status)
	}
}

// namesOfOthers: no answer to a scoped caller has the name of another job type or DAG, in the lists, the search
// and the events.
func (g *guarded) namesOfOthers(alpha, secretive string) {
	g.T.Helper()
	about := map[string]map[string]string{
		"scoped": {"name": "alpha", "run": alpha, "item": "job-00001", "id": "far-1", "pool": "p", "key": "k"},
		"boss":   {"name": "secretive", "run": secretive, "item": "job-00001", "id": "far-1", "pool": "p", "key": "k"},
	}
	shown := map[string]int{}
	for _, o := range readers(g.T) {
		queries := []string{""}
		if o.id == "explain" {
			queries = []string{"?thing=alpha", "?thing=" + url.QueryEscape(contract.WorkflowOfRunKey(alpha))}
		}
		for _, query := range queries {
			status, body := g.raw("scoped", "/api/v1"+o.filled(about["scoped"])+query, nil)
			assert.NotContains(g.T, body, "secretive", "%s%s: %d", o.path, query, status)
			assert.NotContains(g.T, body, "hidden-dag", "%s%s: %d", o.path, query, status)
			if status == http.StatusOK {
				shown["scoped"]++
			}
			if _, body = g.raw("boss", "/api/v1"+o.filled(about["boss"])+query, nil); strings.Contains(body, "secretive") {
				shown["boss"]++
			}
		}
	}
	for _, query := range []string{"/runs?job_type=secretive", "/runs?dag=hidden-dag", "/audit?job_type=secretive", "/audit?object=job-type/secretive", "/forecast?job_type=secretive"} {
		_, body := g.raw("scoped", "/api/v1"+query, nil)
		for _, theirs := range []string{"group/secretive", "dag/hidden-dag", "job-type/secretive", "for secretive"} {
			assert.NotContains(g.T, body, theirs, query)
		}
	}
	assert.Greater(g.T, shown["scoped"], 12, "answers that the scoped caller got")
	assert.Greater(g.T, shown["boss"], 12, "answers that name it to others")
	for _, topic := range g.topics() {
		body := g.firstEvent("scoped", topic)
		assert.NotContains(g.T, body, "secretive", topic)
		assert.NotContains(g.T, body, "hidden-dag", topic)
	}
	assert.Contains(g.T, g.firstEvent("boss", "job-types"), "secretive")
	assert.Contains(g.T, g.firstEvent("scoped", "job-types"), "alpha")
}

// topics are the topics in the refusal of an unknown one.
func (g *guarded) topics() []string {
	g.T.Helper()
	status, body := g.raw("boss", "/api/v1/events?topic=odd", nil)
	require.Equal(g.T, http.StatusUnprocessableEntity, status, body)
	var refused struct{ Remedy string }
	require.NoError(g.T, json.Unmarshal([]byte(body), &refused))
	names := strings.Split(strings.TrimPrefix(refused.Remedy, "the topics are "), ", ")
	require.Greater(g.T, len(names), 5)
	return names
}

// firstEvent returns the first state of a topic, or the refusal.
func (g *guarded) firstEvent(name, topic string) string {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/api/v1/events?topic="+topic, http.NoBody)
	require.NoError(g.T, err)
	request.Header.Set("Authorization", "Bearer "+g.keys[name])
	response, err := clients().Do(request)
	require.NoError(g.T, err)
	defer response.Body.Close()
	lines, seen := bufio.NewScanner(response.Body), bytes.Buffer{}
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		seen.WriteString(lines.Text())
		if strings.HasPrefix(lines.Text(), "data: ") {
			break
		}
	}
	return seen.String()
}
