package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/itemlist"
	"github.com/roundsman/roundsman/starter/joblogs"
)

// ItemPath names an item of a run in the path.
type ItemPath struct {
	RunPath
	Item string `path:"item" maxLength:"1000" doc:"The id of the job or task, every / written as ~"`
}

func (p ItemPath) item() starter.ItemRef {
	return starter.ItemRef{Run: p.Ref(), ID: strings.ReplaceAll(p.Item, "~", "/")}
}

func (p ItemPath) requested(what string) Requested {
	return Requested{WorkflowID: p.Ref().WorkflowID, Item: p.item().ID, Requested: what}
}

type itemList struct {
	Items []starter.Item `json:"items"`
	Page
}

type itemsInput struct {
	RunPath
	State []string  `query:"state" doc:"Only items in one of these states"`
	Key   string    `query:"key" maxLength:"1024" doc:"Only the job with this dedupe key, the tasks with this id or key, or those of a fan-out for this item"`
	ID    string    `query:"id" maxLength:"1000" doc:"Only this item, or all tasks of an entry that fans out"`
	Find  string    `query:"find" maxLength:"1024" doc:"Only the jobs with this number, id or dedupe key; only the tasks with this id"`
	Sort  string    `query:"sort" enum:"key,-key,state,-state,worker,-worker,attempt,-attempt,took,-took,ended,-ended" doc:"Another order than the run's own; - for descending. Of at most 20,000 items"`
	Since time.Time `query:"since" doc:"Only items that ran after this time. Of at most 20,000 items"`
	Until time.Time `query:"until" doc:"Only items that ran before this time. Of at most 20,000 items"`
	From  int       `query:"from" minimum:"0" doc:"Leave out so many, instead of a cursor"`
	Times bool      `query:"times" doc:"Of a DAG: when tasks were ready, began and ended, who decided, in that order; read from the history of the run, for at most 2,000 tasks"`
	Listing
}

var (
	viewItems    = access.Permission{Verb: access.View, Kind: access.Items}    //nolint:gochecknoglobals // constants
	operateItems = access.Permission{Verb: access.Operate, Kind: access.Items} //nolint:gochecknoglobals // constants
)

func (a *API) items() {
	const tag, all = "items", "/runs/{run}/items"
	Add(a, Operation{
		ID: "search-items", Method: http.MethodGet, Path: "/items", Tag: tag, Summary: "Find jobs and tasks by their key over all runs, those of the newest run first",
		Description: "200 runs are searched at a time, the newest first; next is the cursor of the other items and of older runs. missed names the runs that did not answer.",
		May:         viewItems, Reach: Some,
	}, a.searchItems)
	Add(a, Operation{
		ID: "list-items", Method: http.MethodGet, Path: all, Tag: tag, Summary: "List the jobs or tasks of a run",
		May: viewItems, Reach: Named,
		Live: LiveRun(visibleGap),
	}, a.listItems)
	Add(a, Operation{
		ID: "get-item", Method: http.MethodGet, Path: all + "/{item}", Tag: tag, Summary: "Show a job or task with its attempts",
		May: viewItems, Reach: Named,
		Live: LiveRun(visibleGap),
	}, func(ctx context.Context, call *Call, in *ItemPath) (starter.ItemDetail, error) {
		item, err := call.Client.Runs().Item(ctx, in.item())
		if err != nil {
			return starter.ItemDetail{}, err
		}
		return call.Client.Runs().Detail(ctx, item)
	})
	Add(a, Operation{
		ID: "get-item-output", Method: http.MethodGet, Path: all + "/{item}/output", Tag: tag, Summary: "Read the output of a job or task",
		Description: "next is the offset to continue from. While running is true there may be more.",
		May:         viewItems, Reach: Named,
		Live: &feed.Topic{Every: busyEvery, Of: []string{OfRun}},
	}, func(ctx context.Context, call *Call, in *struct {
		ItemPath
		Attempt int   `query:"attempt" minimum:"0" doc:"0: the last one"`
		Offset  int64 `query:"offset" default:"-16384" doc:"In bytes; a negative one counts from the end"`
	},
	) (joblogs.Part, error) {
		return joblogs.Read(ctx, call.Client, in.item(), in.Attempt, in.Offset)
	})
	a.download(tag, all+"/{item}")
	Add(a, Operation{
		ID: "list-item-artifacts", Method: http.MethodGet, Path: all + "/{item}/artifacts", Tag: tag, Summary: "List the files that an attempt has left",
		May: viewItems, Reach: Named,
	}, func(ctx context.Context, call *Call, in *struct {
		ItemPath
		Attempt int `query:"attempt" minimum:"0" doc:"0: the last one"`
	},
	) (joblogs.Artifacts, error) {
		return joblogs.ListArtifacts(ctx, call.Client, in.item(), in.Attempt)
	})
	a.artifact(tag, all+"/{item}")
	a.itemActions(tag, all+"/{item}")
	a.taskActions(tag, all+"/{item}")
}

func (a *API) listItems(ctx context.Context, call *Call, in *itemsInput) (itemList, error) {
	if err := checkStates(in.State); err != nil {
		return itemList{}, err
	}
	name := "items " + in.Ref().WorkflowID + in.Sort
	byPlace := in.Ref().Kind() == starter.KindGroup && in.Sort == "" && in.Find == "" // Its jobs move in the list while it is read.
	filter := starter.ItemFilter{States: in.State, ID: in.ID, DedupeKey: in.Key, Offset: in.From, Limit: in.Limit + 1}
	var to any = &filter.Offset
	if byPlace && in.Cursor != "" {
		to, filter.Offset = &filter.After, 0
	}
	if err := a.cursors.Resume(name, in.Cursor, to); err != nil {
		return itemList{}, err
	}
	page := Page{AsOf: time.Now().UTC()}
	found, total, err := itemlist.List(ctx, call.Client.Runs(), in.Ref(), itemlist.Filter{
		ItemFilter: filter, Find: in.Find, Sort: in.Sort, Since: in.Since, Until: in.Until,
	}, page.AsOf)
	if many, is := errors.AsType[*itemlist.TooManyError](err); is {
		return itemList{}, problem.New(http.StatusUnprocessableEntity, "TOO_MANY", many.Error()).With("choose a state, or leave out sort, since and until")
	}
	page.Total = total
	if len(found) > in.Limit && err == nil {
		found = found[:in.Limit]
		var place any = filter.Offset + in.Limit
		if byPlace {
			place = found[in.Limit-1].Place
		}
		page.Next, err = a.cursors.Next(name, place)
	}
	if in.Times && err == nil && in.Ref().Kind() == starter.KindDAG {
		found, err = call.withTimes(ctx, in.Ref(), found)
	}
	return itemList{lists.OrEmpty(starter.Listed(found)), page}, err
}

// mostSearched bounds the runs that one request searches.
const mostSearched = 200

type searchInput struct {
	Key     string    `query:"key" required:"true" minLength:"1" maxLength:"1024" doc:"Jobs with this dedupe key, tasks with this id or key, and tasks of a fan-out for this item"`
	State   []string  `query:"state" doc:"Only items in one of these states"`
	JobType string    `query:"job_type" maxLength:"63" doc:"Only in runs of this job type"`
	Since   time.Time `query:"since" doc:"Only in runs that started from this time on"`
	Listing
}

type foundItems struct {
	Items []starter.Item `json:"items"`
	// Missed lists runs that were not searched, with the reason; empty if all were searched.
	Missed string `json:"missed,omitempty"`
	// Searched counts the runs whose items are all on this page or earlier ones; BackTo is the start of the oldest one.
	Searched int       `json:"searched"`
	BackTo   time.Time `json:"back_to,omitzero"`
	// Next is the cursor of the other items and of older runs.
	Next string    `json:"next,omitempty"`
	AsOf time.Time `json:"as_of"`
}

func (a *API) searchItems(ctx context.Context, call *Call, in *searchInput) (foundItems, error) {
	if err := checkStates(in.State); err != nil {
		return foundItems{}, err
	}
	if err := jobtype.ValidateName(in.JobType); in.JobType != "" && err != nil {
		return foundItems{}, problem.New(http.StatusUnprocessableEntity, "", err.Error())
	}
	answer := foundItems{AsOf: time.Now().UTC()}
	runs, next, at, err := a.runsPage(ctx, call, "search", in.Cursor, starter.RunFilter{JobType: in.JobType, SubDAGs: true, Since: in.Since}, mostSearched)
	if err != nil {
		return answer, err
	}
	runs = starter.DistinctRuns(runs)
	found, err := call.Client.Runs().SearchAmong(ctx, runs, starter.ItemSearch{States: in.State, DedupeKey: in.Key, Partly: at.Partly, Limit: starter.All})
	if err != nil && !call.Sees(access.Scope{}) { // It names runs.
		err = errors.New("not all runs were searched")
	}
	if len(found) == 0 && err != nil {
		return answer, err
	}
	if err != nil {
		answer.Missed, err = err.Error(), nil
	}
	seen := access.Filter(call.Rights, call.operation.May, found, func(item starter.Item) access.Scope { return scopeOfThing(item.Run.WorkflowID) })
	if len(seen) > in.Limit {
		whole, position := at.Within(runs, seen, in.Limit)
		runs, seen = whole, seen[:in.Limit]
		next, err = a.cursors.Next("search", position)
	}
	if answer.Next, answer.Searched = next, len(runs); len(runs) > 0 {
		answer.BackTo = runs[len(runs)-1].Started
	}
	answer.Items = lists.OrEmpty(starter.Listed(seen))
	return answer, err
}

// Unreadable times stay unknown.
func (c *Call) withTimes(ctx context.Context, ref starter.RunRef, tasks []starter.Item) ([]starter.Item, error) {
	run, err := c.Client.Runs().Show(ctx, ref)
	if err != nil || run.Progress == nil || run.Progress.Total > starter.MaxTimed {
		return tasks, err
	}
	timed, err := c.Client.Runs().Timeline(ctx, run, tasks)
	if err != nil {
		c.Logf("times of %s: %v", ref.WorkflowID, err)
	}
	return timed, nil
}

type itemReason struct {
	ItemPath
	Body reasonBody
}

type itemNote struct {
	ItemPath
	Body noteBody
}

func (a *API) itemActions(tag, one string) {
	Add(a, Operation{
		ID: "cancel-item", Method: http.MethodPost, Path: one + "/cancel", Tag: tag, Summary: "Cancel a job or task",
		May: operateItems, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *itemReason) (ItemEnding, error) {
		return ItemEnding(in.requested("cancel")), call.Client.Runs().CancelItem(ctx, in.item(), in.Body.Reason)
	})
	Add(a, Operation{
		ID: "expire-item", Method: http.MethodPost, Path: one + "/expire", Tag: tag, Summary: "Give up a job at once, without waiting for its handler",
		May: operateItems, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *itemReason) (ItemEnding, error) {
		return ItemEnding(in.requested("expire")), call.Client.Runs().ExpireItem(ctx, in.item(), in.Body.Reason)
	})
}

// ofTask acts on a task of the run in the path, of a sub-DAG, or of the DAG of a job.
func ofTask(ctx context.Context, call *Call, item starter.ItemRef, do func(starter.ItemRef) (contract.DAGChanged, error)) (contract.DAGChanged, error) {
	item, err := call.Client.Runs().Locate(ctx, item)
	if err != nil {
		return contract.DAGChanged{}, err
	}
	return ofDAG(item.Run, func() (contract.DAGChanged, error) { return do(item) })
}

func (a *API) taskActions(tag, one string) {
	Add(a, Operation{
		ID: "retry-item", Method: http.MethodPost, Path: one + "/retry", Tag: tag, Summary: "Try a failed or canceled task of an open run again, with the tasks it blocked",
		May: operateItems, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *ItemPath) (ItemRetried, error) {
		changed, err := ofTask(ctx, call, in.item(), func(item starter.ItemRef) (contract.DAGChanged, error) {
			return call.Client.DAGs().RetryTasks(ctx, item.Run, []string{item.ID}, call.Name)
		})
		return ItemRetried{changed, in.item()}, err
	})
	Add(a, Operation{
		ID: "rerun-item", Method: http.MethodPost, Path: one + "/rerun", Tag: tag, Summary: "Execute a task that has ended, and everything after it, again",
		May: operateItems, Reach: Named, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *ItemPath) (ItemRetried, error) {
		changed, err := ofTask(ctx, call, in.item(), func(item starter.ItemRef) (contract.DAGChanged, error) {
			return call.Client.DAGs().RerunTask(ctx, item.Run, item.ID, call.Name)
		})
		return ItemRetried{changed, in.item()}, err
	})
	Add(a, Operation{
		ID: "skip-item", Method: http.MethodPost, Path: one + "/skip", Tag: tag, Summary: "Make a task that does not run count as done",
		May: operateItems, Reach: Named,
	}, func(ctx context.Context, call *Call, in *itemReason) (contract.DAGChanged, error) {
		return ofTask(ctx, call, in.item(), func(item starter.ItemRef) (contract.DAGChanged, error) {
			return call.Client.DAGs().SkipTask(ctx, item.Run, item.ID, call.Name, in.Body.Reason)
		})
	})
	Add(a, Operation{
		ID: "approve-item", Method: http.MethodPost, Path: one + "/approve", Tag: tag, Summary: "Let a task that waits for an approval continue",
		May: operateItems, Reach: Named,
	}, func(ctx context.Context, call *Call, in *itemNote) (contract.DAGChanged, error) {
		return ofTask(ctx, call, in.item(), func(item starter.ItemRef) (contract.DAGChanged, error) {
			return call.Client.DAGs().ApproveTask(ctx, item.Run, item.ID, call.Name, in.Body.Note)
		})
	})
	Add(a, Operation{
		ID: "reject-item", Method: http.MethodPost, Path: one + "/reject", Tag: tag, Summary: "Fail a task that waits for an approval",
		May: operateItems, Reach: Named,
	}, func(ctx context.Context, call *Call, in *itemNote) (contract.DAGChanged, error) {
		return ofTask(ctx, call, in.item(), func(item starter.ItemRef) (contract.DAGChanged, error) {
			return call.Client.DAGs().RejectTask(ctx, item.Run, item.ID, call.Name, in.Body.Note)
		})
	})
}
