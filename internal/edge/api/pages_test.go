package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/audit"
	"github.com/roundsman/roundsman/starter"
)

// entities answer queries by their types. A workflow without the query does not exist.
type entities struct {
	client.Client

	answers map[string]func(input any) any
}

func (e entities) QueryWorkflowWithOptions(_ context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	answer := e.answers[r.QueryType]
	if answer == nil {
		return nil, serviceerror.NewNotFound("there is no " + r.WorkflowID)
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer(r.Args[0]))
	if err != nil {
		return nil, err
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, nil
}

func (e entities) handler() http.Handler {
	return api.New(api.Options{Auth: callers(), Client: starter.New(e, "", nil), Secret: []byte("of these pages")}).Handler()
}

const listedNames = 7

// names are those after a name, at most limit.
func names(after string, limit int) (list []string) {
	for i := range listedNames {
		if name := fmt.Sprint("name-", i); name > after && len(list) < limit {
			list = append(list, name)
		}
	}
	return list
}

func admissionOfNames(input any) any {
	filter, _ := input.(contract.AdmissionFilter)
	view := contract.AdmissionView{LaneCount: listedNames, PoolCount: listedNames, ObjectCount: listedNames}
	for _, name := range names(filter.After, filter.Limit) {
		view.Lanes = append(view.Lanes, contract.AdmissionLane{Name: name})
		view.Pools = append(view.Pools, contract.AdmissionPool{Name: name})
		view.Objects = append(view.Objects, contract.AdmissionThing{Name: name})
	}
	return view
}

func pastGrants(input any) any {
	filter, _ := input.(contract.PastGrantsFilter)
	past := contract.PastGrants{Kept: listedNames, Released: listedNames}
	for seq := int64(listedNames); seq > 0; seq-- {
		switch {
		case filter.Before > 0 && seq >= filter.Before:
		case len(past.Grants) == filter.Limit:
			past.More = true
		default:
			past.Grants = append(past.Grants, contract.PastGrant{Seq: seq})
		}
	}
	return past
}

func holds(input any) any {
	filter, _ := input.(contract.HoldsInput)
	all := names("", listedNames)
	held := contract.HoldsResult{Total: len(all)}
	for _, key := range all[min(filter.Offset, len(all)):min(filter.Offset+filter.Limit, len(all))] {
		held.Holds = append(held.Holds, contract.AdmissionHold{JobType: "scrub", DedupeKey: key})
	}
	return held
}

// auditLog has a summed decision, which is recorded after later entries.
func auditLog() func(any) any {
	log, now := audit.New(0), time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	for i := range listedNames {
		at := now.Add(time.Duration(i) * time.Minute)
		if i == listedNames-2 {
			at = now.Add(-time.Hour)
		}
		log.Record(now.Add(time.Hour), contract.AuditEntry{Kind: contract.AuditOperator, Actor: "ann", Action: "job.cancel", Object: fmt.Sprint(i), At: at})
	}
	return func(input any) any {
		filter, _ := input.(contract.AuditFilter)
		return log.Page(filter)
	}
}

// TestPagesHaveEachEntryOnce, whatever the size of a page.
func TestPagesHaveEachEntryOnce(t *testing.T) {
	t.Parallel()
	handler := entities{answers: map[string]func(any) any{
		contract.QueryAdmission: admissionOfNames, contract.QueryPastGrants: pastGrants, contract.QueryHolds: holds, contract.QueryAudit: auditLog(),
	}}.handler()
	for _, list := range []struct{ path, key, id string }{
		{"/lanes", "lanes", "name"},
		{"/pools", "pools", "name"},
		{"/objects", "objects", "name"},
		{"/past-grants", "grants", "seq"},
		{"/held", "holds", "dedupe_key"},
		{"/audit", "entries", "seq"},
	} {
		for limit := 1; limit <= listedNames+1; limit++ {
			var seen []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				require.LessOrEqual(t, pages, 2*listedNames, list.path)
				found := ask(t, handler, "admin", http.MethodGet, fmt.Sprintf("%s%s?limit=%d&cursor=%s", api.Prefix, list.path, limit, url.QueryEscape(cursor)), "")
				require.Equal(t, http.StatusOK, found.Code, found.Body.String())
				var page map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(found.Body.Bytes(), &page))
				var entries []map[string]any
				require.NoError(t, json.Unmarshal(page[list.key], &entries), found.Body.String())
				for _, entry := range entries {
					seen = append(seen, fmt.Sprint(entry[list.id]))
				}
				if cursor = ""; page["next"] != nil {
					require.NoError(t, json.Unmarshal(page["next"], &cursor))
				}
			}
			slices.Sort(seen)
			assert.Len(t, slices.Compact(slices.Clone(seen)), listedNames, "%s by %d: %v", list.path, limit, seen)
			assert.Len(t, seen, listedNames, "%s by %d: %v", list.path, limit, seen)
		}
	}
}

// TestEachPoolHasItsSize, also one that admission lists on a later page.
func TestEachPoolHasItsSize(t *testing.T) {
	t.Parallel()
	const pools = 1200
	handler := entities{answers: map[string]func(any) any{contract.QueryAdmission: func(input any) any {
		filter, _ := input.(contract.AdmissionFilter)
		view := contract.AdmissionView{PoolCount: pools}
		for i := range pools {
			if name := fmt.Sprintf("pool-%04d", i); name > filter.After && len(view.Pools) < filter.Limit {
				view.Pools = append(view.Pools, contract.AdmissionPool{Name: name, Size: i})
			}
		}
		return view
	}}}.handler()
	for name, want := range map[string]int{"pool-0001": http.StatusOK, "pool-1199": http.StatusOK, "pool-1200": http.StatusNotFound} {
		answer := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/pools/"+name+"/size", "")
		assert.Equal(t, want, answer.Code, "%s: %s", name, answer.Body)
	}
}

// TestACursorIsOfOneListAndOneControlPlane.
func TestACursorIsOfOneListAndOneControlPlane(t *testing.T) {
	t.Parallel()
	of := entities{answers: map[string]func(any) any{contract.QueryAdmission: admissionOfNames}}
	handler := of.handler()
	var page struct {
		Next string `json:"next"`
	}
	require.NoError(t, json.Unmarshal(ask(t, handler, "admin", http.MethodGet, api.Prefix+"/lanes?limit=2", "").Body.Bytes(), &page))
	stranger := api.New(api.Options{Auth: callers(), Client: starter.New(of, "", nil), Secret: []byte("another")}).Handler()
	for name, refused := range map[string]struct {
		handler http.Handler
		path    string
	}{
		"another list":    {handler, "/pools?cursor=" + page.Next},
		"altered":         {handler, "/lanes?cursor=" + page.Next[1:]},
		"another secret":  {stranger, "/lanes?cursor=" + page.Next},
		"a cursor of old": {handler, "/lanes?cursor=bmFtZS0x"},
	} {
		answer := ask(t, refused.handler, "admin", http.MethodGet, api.Prefix+refused.path, "")
		assert.Equal(t, http.StatusBadRequest, answer.Code, name)
		assert.Equal(t, "BAD_CURSOR", codeOf(t, answer), name)
	}
	assert.Equal(t, http.StatusOK, ask(t, handler, "admin", http.MethodGet, api.Prefix+"/lanes?cursor="+page.Next, "").Code)
}

// TestWithoutAdmissionNothingIsHeld: no group has requested anything yet.
func TestWithoutAdmissionNothingIsHeld(t *testing.T) {
	t.Parallel()
	handler := entities{}.handler()
	for path, key := range map[string]string{"/lanes": "lanes", "/pools": "pools", "/objects": "objects", "/past-grants": "grants", "/held": "holds"} {
		found := ask(t, handler, "admin", http.MethodGet, api.Prefix+path, "")
		require.Equal(t, http.StatusOK, found.Code, path)
		var page map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(found.Body.Bytes(), &page))
		assert.JSONEq(t, "[]", string(page[key]), path)
	}
	missing := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/pools/io/size", "")
	assert.Equal(t, http.StatusNotFound, missing.Code)
}
