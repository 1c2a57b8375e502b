package gatewaye2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// boundKeys: a key bound to a worker works only for that worker, and so does its token.
func (g *guarded) boundKeys(worker *remote) {
	g.T.Helper()
	for _, secret := range []string{g.keys["far"], worker.token} {
		other := &remote{t: g.T, base: worker.base, id: "far-2", token: secret}
		for _, more := range []object{nil, {"take_over": true}, {"previous": worker.token}} {
			a := other.register(more)
			assert.Equal(g.T, http.StatusForbidden, a.status, "%v", a.body)
			assert.Equal(g.T, "NOT_YOURS", a.text("code"))
		}
	}
	second := g.worker("fleet", "far-2")
	for _, path := range []string{"jobs:poll", "detections:poll", "ping", "unregister"} {
		a := second.post("/workers/far-1/"+path, object{"executing": 0, "detecting": 0})
		if a.status == http.StatusUnprocessableEntity {
			a = second.post("/workers/far-1/"+path, object{})
		}
		assert.Equal(g.T, http.StatusForbidden, a.status, "%s: %v", path, a.body)
	}
	for _, path := range []string{"/workers/far-1/jobs:poll", "/workers/far-1/unregister"} {
		key := &remote{t: g.T, base: worker.base, token: g.keys["far"]}
		assert.Equal(g.T, http.StatusUnauthorized, key.post(path, object{}).status, "the key itself is no worker's token")
	}
	for _, name := range []string{"viewer", "ann", "scoped"} {
		a := g.as(name)
		a.id = "far-3"
		assert.Equal(g.T, http.StatusForbidden, a.register(nil).status, name)
	}
	require.Equal(g.T, http.StatusOK, second.post("/workers/far-2/unregister", nil).status)
}

// audit reads the whole log.
func (g *guarded) audit() starter.AuditFound {
	g.T.Helper()
	found, err := g.Client.Audit().Read(g.T.Context(), contract.AuditFilter{})
	require.NoError(g.T, err)
	return found
}

// readingChangesNothing: no GET adds an entry to the audit log.
func (g *guarded) readingChangesNothing(run string) {
	g.T.Helper()
	byOperators := func() (entries []contract.AuditEntry) {
		for _, e := range g.audit().Entries {
			if e.Kind == contract.AuditOperator {
				entries = append(entries, e)
			}
		}
		return entries
	}
	before, calls := byOperators(), 0
	values := []string{"", "1", "-1", "true", "secretive", "far-1", "2026-01-01T00:00:00Z", "\x00';--", strings.Repeat("x", 2000), "running"}
	for _, o := range readers(g.T) {
		for i, value := range values {
			query := url.Values{}
			for j, name := range o.query {
				query.Set(name, values[(i+j)%len(values)])
			}
			query.Set([]string{"action", "method", "_method", "limit"}[i%4], value)
			path := o.filled(map[string]string{"name": "secretive", "run": run, "item": "job-00001", "id": "far-1", "pool": "p"})
			status, body := g.raw("boss", "/api/v1"+path+"?"+query.Encode(), func(r *http.Request) { r.Header.Set("X-HTTP-Method-Override", "DELETE") })
			assert.Less(g.T, status, 500, "%s?%s: %s", path, query.Encode(), body)
			calls++
		}
	}
	assert.Equal(g.T, before, byOperators(), "after %d GETs", calls)
}

// refusals: each refused request counts in the audit log.
func (g *guarded) refusals() {
	g.T.Helper()
	for range 3 {
		a := g.as("viewer").post("/job-types/alpha/pause", object{})
		assert.Equal(g.T, http.StatusForbidden, a.status)
	}
	testsuite.WaitFor(g.T, 30*time.Second, "the refused writes are in the audit log", func() bool {
		count := 0
		for _, e := range g.audit().Entries {
			if e.Code == contract.CodeAccessDenied && e.Actor == "viewer" && e.Object == "pause-job-type" {
				count += e.Count
			}
		}
		return count == 3
	})
}

// twoPeople: in a thousand concurrent writes of two people, no entry of the audit log and no event of Temporal
// has the wrong name.
func (g *guarded) twoPeople() {
	g.T.Helper()
	const writes, pools = 500, 10
	var writing sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		for lane := range 4 {
			own := g.as(who)
			writing.Go(func() {
				for i := lane; i < writes; i += 4 {
					a, err := own.send(g.T.Context(), http.MethodPut, fmt.Sprintf("/pools/%s-%d/size", who, i%pools), object{"size": i + 1})
					if assert.NoError(g.T, err) {
						assert.Equal(g.T, http.StatusOK, a.status, "%v", a.body)
					}
				}
			})
		}
	}
	writing.Wait()
	seen := map[string]int{}
	testsuite.WaitFor(g.T, 5*time.Minute, "a thousand entries", func() bool {
		clear(seen)
		for _, e := range g.audit().Entries {
			if e.Action == "pool.resize" {
				owner, _, _ := strings.Cut(strings.TrimPrefix(e.Object, "pool/"), "-")
				if !assert.Equal(g.T, owner, e.Actor, "%+v", e) {
					return true
				}
				seen[e.Actor] += max(e.Count, 1)
			}
		}
		return seen["ann"]+seen["bob"] >= 2*writes
	})
	assert.Equal(g.T, map[string]int{"ann": writes, "bob": writes}, seen)
	clear(seen)
	g.histories(contract.AdmissionWorkflowID, func(event *historypb.HistoryEvent) {
		request := event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest()
		if request.GetInput().GetName() != contract.UpdateResizePool {
			return
		}
		var in contract.ResizePoolInput
		require.NoError(g.T, starter.DataConverter().FromPayloads(request.GetInput().GetArgs(), &in))
		owner, _, _ := strings.Cut(in.Pool, "-")
		assert.Contains(g.T, request.GetMeta().GetIdentity(), ":"+owner+"@127.0.0.1")
		seen[owner]++
	})
	assert.Equal(g.T, map[string]int{"ann": writes, "bob": writes}, seen, "updates in Temporal's history")
}

// everyWriteIsSigned: each entry has the actor, the way, the authentication and the address.
func (g *guarded) everyWriteIsSigned() {
	g.T.Helper()
	seen := map[string]int{}
	for _, e := range g.audit().Entries {
		if e.Kind != contract.AuditOperator {
			continue
		}
		seen[e.Via+" "+e.Action]++
		assert.NotEmpty(g.T, e.Actor, "%+v", e)
		assert.NotEmpty(g.T, e.From, "%+v", e)
		switch e.Via {
		case contract.ViaGateway: // Refused requests of people to the protocol of workers.
			assert.Equal(g.T, contract.CodeAccessDenied, e.Code, "%+v", e)
			fallthrough
		case contract.ViaAPI:
			assert.Equal(g.T, "key", e.Auth, "%+v", e)
			assert.Equal(g.T, "127.0.0.1", e.From, "%+v", e)
		case contract.ViaCLI:
		default:
			assert.Fail(g.T, "an odd way", "%+v", e)
		}
	}
	g.T.Logf("audit: %v", seen)
	assert.Greater(g.T, len(seen), 5)
}

// revoked: a key, and the token of a worker that it registered, are refused within 5 s.
func (g *guarded) revoked(ids map[string]string, worker *remote) {
	g.T.Helper()
	other := sites.FreeAddress(g.T)
	g.gateway(other)
	elsewhere := *worker
	elsewhere.base = "http://" + other + "/api/v1"
	ping := object{"executing": 0, "detecting": 0}
	require.Equal(g.T, http.StatusOK, elsewhere.post("/workers/far-1/ping", ping).status)
	for name, refused := range map[string]func() bool{
		"ann": func() bool { return g.as("ann").get("/me").status == http.StatusUnauthorized },
		"far": func() bool {
			return worker.post("/workers/far-1/ping", ping).status == http.StatusUnauthorized &&
				elsewhere.post("/workers/far-1/jobs:poll", object{}).status == http.StatusUnauthorized
		},
	} {
		assert.False(g.T, refused(), name)
		g.Command("delete", "-y", "apikey/"+ids[name])
		since := time.Now()
		testsuite.WaitFor(g.T, 30*time.Second, "the key of "+name+" is refused", refused)
		g.T.Logf("the key of %s was refused after %.1f s", name, time.Since(since).Seconds())
	}
	assert.Equal(g.T, http.StatusOK, g.as("bob").get("/me").status)
}

// histories visits the events of all executions with a workflow id. An empty id means all executions, including
// the server's own.
func (g *guarded) histories(id string, visit func(*historypb.HistoryEvent)) (executions int) {
	g.T.Helper()
	found := map[string]*commonpb.WorkflowExecution{}
	for _, query := range []string{"", "TemporalNamespaceDivision IS NOT NULL"} {
		request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: g.Client.Namespace(), Query: query, PageSize: 1000}
		for {
			page, err := g.Client.Temporal().ListWorkflow(g.T.Context(), request)
			require.NoError(g.T, err)
			for _, one := range page.GetExecutions() {
				if id == "" || one.GetExecution().GetWorkflowId() == id {
					found[one.GetExecution().GetRunId()] = one.GetExecution()
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
				break
			}
		}
	}
	for execution := range maps.Values(found) {
		events := g.Client.Temporal().GetWorkflowHistory(g.T.Context(), execution.GetWorkflowId(), execution.GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(g.T, err)
			visit(event)
		}
	}
	return len(found)
}

// nothingIsLeaked: no secret is in the output of any process, in the audit log, or in any history. Payloads are
// decoded as Roundsman decodes them.
func (g *guarded) nothingIsLeaked() {
	g.T.Helper()
	clean := func(where, text string) {
		for i, secret := range g.secrets {
			if strings.Contains(text, secret) {
				g.T.Errorf("secret %d (%.6s…) is in %s", i, secret, where)
			}
		}
	}
	for _, p := range g.Processes {
		clean("the output of "+strings.Join(p.Args[1:], " "), p.Stdout.String()+p.Stderr.String())
	}
	for _, line := range []string{"msg=access who=ann via=api auth=key address=127.0.0.1 operation=set-pool-size status=200", "who=eve@example.org via=api auth=session", "operation=poll-job"} {
		assert.True(g.T, slices.ContainsFunc(g.Processes, func(p *sites.Process) bool { return strings.Contains(p.Stderr.String(), line) }), line)
	}
	clean("the audit log", g.Command("audit", "--output", "json", "--limit", "0"))
	events, payloads := 0, starter.DataConverter()
	executions := g.histories("", func(event *historypb.HistoryEvent) {
		events++
		raw, err := proto.Marshal(event)
		require.NoError(g.T, err)
		clean("a history's "+event.GetEventType().String(), string(raw))
		require.NoError(g.T, proxy.VisitPayloads(g.T.Context(), event, proxy.VisitPayloadsOptions{
			Visitor: func(_ *proxy.VisitPayloadsContext, all []*commonpb.Payload) ([]*commonpb.Payload, error) {
				for _, each := range all {
					clean("a payload of "+event.GetEventType().String(), payloads.ToString(each))
				}
				return all, nil
			},
		}))
	})
	g.T.Logf("%d secrets, %d events of %d executions, %d processes", len(g.secrets), events, executions, len(g.Processes))
	assert.Greater(g.T, events, 2000)
}
