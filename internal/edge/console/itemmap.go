package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

const (
	// mapGap is the minimum time between fetches of a map: 100,000 jobs have 130 kB.
	mapGap = 5 * time.Second
	// mostGrouped bounds the failed items that are read for their messages.
	mostGrouped = 10_000
	// mostCauses bounds the messages in an answer, mostOfCause the items of each.
	mostCauses  = 20
	mostOfCause = 100
	// mostWorkers bounds the workers of a message that are named.
	mostWorkers = 5
)

// RunMap has the state of each job of a run.
type RunMap struct {
	WorkflowID string `json:"workflow_id"`
	Total      int    `json:"total"`
	// One byte per job: an index into States and Roles, or [contract.JobMapUnknown].
	Map    []byte         `json:"map"`
	States []string       `json:"states"`
	Roles  []explain.Role `json:"roles" doc:"The role of each state"`
	Counts map[string]int `json:"counts"`
	AsOf   time.Time      `json:"as_of"`
}

// Cause is an error message that failed items of a run share.
type Cause struct {
	explain.Failure
	// Workers names the first workers, WorkersTotal counts all.
	Workers      []string  `json:"workers"`
	WorkersTotal int       `json:"workers_total"`
	First        time.Time `json:"first,omitzero"`
	Last         time.Time `json:"last,omitzero"`
	// Items are the first failed items with the message.
	Items []CauseItem `json:"items"`
	// Remedy, Hint and Actions help if a retry does not; empty otherwise.
	Remedy  string          `json:"remedy,omitempty"`
	Hint    string          `json:"hint,omitempty"`
	Actions []action.Action `json:"actions,omitempty"`
}

// CauseItem is a failed item.
type CauseItem struct {
	ID        string `json:"id"`
	DedupeKey string `json:"dedupe_key,omitempty"`
}

// RunFailures groups the failed items of a run by message, the most frequent first.
type RunFailures struct {
	WorkflowID string `json:"workflow_id"`
	// Failed counts the failed items. Uncounted of them are in no cause.
	Failed    int       `json:"failed"`
	Causes    []Cause   `json:"causes"`
	More      int       `json:"more,omitempty" doc:"Causes that are left out"`
	Uncounted int       `json:"uncounted,omitempty"`
	AsOf      time.Time `json:"as_of"`
}

func addItemMap(a *api.API) {
	view := access.Permission{Verb: access.View, Kind: access.Items}
	api.Add(a, api.Operation{
		ID: "get-run-map", Method: http.MethodGet, Path: "/runs/{run}/map", Tag: "runs", Summary: "Show the state of each job of a run in one byte",
		May: view, Reach: api.Named,
		Live: api.LiveRun(mapGap),
	}, func(ctx context.Context, call *api.Call, in *api.RunPath) (RunMap, error) {
		if in.Ref().Kind() == starter.KindDAG {
			return RunMap{}, problem.Newf(http.StatusConflict, problem.CodeRefused, "%s is a run of a DAG; this is for runs of job types", in.Ref()).With("GET /runs/{run}/graph")
		}
		jobs, err := call.Client.Runs().JobMap(ctx, in.Ref())
		if err != nil {
			return RunMap{}, err
		}
		return mapOf(in.Ref(), jobs), nil
	})
	api.Add(a, api.Operation{
		ID: "get-run-failures", Method: http.MethodGet, Path: "/runs/{run}/failures", Tag: "runs", Summary: "Group the failed items of a run by their error, the most frequent first",
		May: view, Reach: api.Named,
		Live: api.LiveRun(mapGap),
	}, func(ctx context.Context, call *api.Call, in *api.RunPath) (RunFailures, error) {
		items, total, err := call.Client.Runs().Items(ctx, in.Ref(), starter.ItemFilter{States: starter.FailedStates(), Limit: mostGrouped})
		if err != nil {
			return RunFailures{}, err
		}
		return failuresOf(in.Ref(), items, total), nil
	})
}

func mapOf(ref starter.RunRef, jobs []byte) RunMap {
	found := RunMap{WorkflowID: ref.WorkflowID, Total: len(jobs), Map: jobs, States: contract.JobStates(), Counts: map[string]int{}, AsOf: time.Now().UTC()}
	for _, state := range found.States {
		found.Roles = append(found.Roles, explain.ItemRole(state))
	}
	for _, state := range jobs {
		if int(state) < len(found.States) {
			found.Counts[found.States[state]]++
		}
	}
	return found
}

func failuresOf(ref starter.RunRef, items []starter.Item, total int) RunFailures {
	failed := lists.Map(items, starter.Item.JobError)
	groups := explain.GroupFailures(failed)
	found := RunFailures{WorkflowID: ref.WorkflowID, Failed: total, Causes: []Cause{}, More: max(0, len(groups)-mostCauses), Uncounted: total - len(items), AsOf: time.Now().UTC()}
	causes := map[string]int{}
	for i, group := range groups[:min(len(groups), mostCauses)] {
		causes[explain.FailureKey(group.Example)] = i
		help := explain.RemedyOfFailure(group.Code, ref.WorkflowID, starter.JobTypeOfRun(ref.WorkflowID))
		found.Causes = append(found.Causes, Cause{
			Failure: group, Workers: []string{}, Items: []CauseItem{}, Remedy: help.Text(), Hint: help.Words(), Actions: help.Actions,
		})
	}
	workers := make([]map[string]int, len(found.Causes))
	for i, item := range items {
		at, listed := causes[explain.FailureKey(failed[i])]
		if !listed {
			continue
		}
		cause := &found.Causes[at]
		if len(cause.Items) < mostOfCause {
			cause.Items = append(cause.Items, CauseItem{ID: item.ID, DedupeKey: item.DedupeKey})
		}
		if !item.EndedAt.IsZero() && (cause.First.IsZero() || item.EndedAt.Before(cause.First)) {
			cause.First = item.EndedAt
		}
		if item.EndedAt.After(cause.Last) {
			cause.Last = item.EndedAt
		}
		if workers[at] == nil {
			workers[at] = map[string]int{}
		}
		if item.Worker != "" {
			workers[at][item.Worker]++
		}
	}
	for i, of := range workers {
		cause := &found.Causes[i]
		cause.Workers, cause.WorkersTotal = most(of, mostWorkers), len(of)
		if cause.Hint == "" && len(of) == 1 && of[cause.Workers[0]] == cause.Count {
			help := explain.RemedyOfWorker(cause.Workers[0], cause.Count)
			cause.Remedy, cause.Hint, cause.Actions = help.Text(), help.Words(), help.Actions
		}
	}
	return found
}

func most(of map[string]int, n int) []string {
	names := []string{}
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	return names[:min(n, len(names))]
}
