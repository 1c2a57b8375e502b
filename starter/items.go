package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/pastjobs"
)

// Item is a job of a group or a task of a DAG.
type Item struct {
	Run RunRef `json:"run"`
	ID  string `json:"id"`
	// Kind is job, or the kind of the task: command, approval, dag.
	Kind  string `json:"kind"`
	State string `json:"state"`
	// Standing is derived from the state.
	Standing explain.ItemStanding `json:"standing"`
	// Key of a job, and the number of its proposals if there are several. Batch is only for a single job or with the work.
	DedupeKey string              `json:"dedupe_key,omitempty"`
	Items     int                 `json:"items,omitempty"`
	Batch     []jobtype.BatchItem `json:"batch,omitempty"`
	Summary   string              `json:"summary,omitempty"`
	Priority  jobtype.Priority    `json:"priority,omitempty"`
	// Tasks that a task depends on. Lists have the first [ListedNeeds] and count the rest.
	Needs        []string `json:"needs,omitempty"`
	NeedsLeftOut int      `json:"needs_left_out,omitempty"`
	// Reason why the item is not running, its form for programs, and the end of the wait.
	Waiting string               `json:"waiting,omitempty"`
	Wait    *contract.WaitReason `json:"wait,omitempty"`
	Until   time.Time            `json:"until,omitzero"`
	// Runs are the runs and items that Waiting names, in its order.
	Runs []explain.Holder `json:"runs,omitempty"`
	// Worker that runs the item or ran it last.
	Worker string `json:"worker,omitempty"`
	// Number of the last attempt; 0 before the first.
	Attempt int    `json:"attempt,omitempty"`
	Error   string `json:"error,omitempty"`
	// Earlier run that produced the state of a task, if any.
	FromRun string `json:"from_run,omitempty"`
	// Task in FromRun whose result was taken over, because it has the same key.
	FromTask string `json:"from_task,omitempty"`
	// Redefined is true if the definition of a task was replaced after the run had begun.
	Redefined bool `json:"redefined,omitempty"`
	// Timeout is the longest duration of one attempt at a task; 0: no limit.
	Timeout   jobtype.Duration `json:"timeout,omitempty"`
	NotBefore time.Time        `json:"not_before,omitzero"`
	// Estimate in the proposal of a job.
	EstimatedRuntime jobtype.Duration `json:"estimated_runtime,omitempty"`
	// End of the task's last need, and the operator's decision. [Runs.Timeline] sets them.
	ReadyAt   time.Time    `json:"ready_at,omitzero"`
	Decision  *ItemRequest `json:"decision,omitempty"`
	StartedAt time.Time    `json:"started_at,omitzero"`
	// CreatedAt is when the item became part of the run, ModifiedAt its last change of state.
	CreatedAt  time.Time `json:"created_at,omitzero"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	// Result of a task while another task refers to it, or a completed job's data up to 4 KiB.
	Value  json.RawMessage `json:"value,omitempty"`
	Active *ActiveItem     `json:"active,omitempty"`
	// Place of a job in the list of its run.
	Place pastjobs.Place `json:"-"`
	// Work is the [contract.JobWork] of a job that was not completed, if the filter requests it.
	Work string `json:"-"`
}

// ListedNeeds bounds the needs of a task in a list: 100,000 needs are 1.3 MB.
const ListedNeeds = 100

// Listed removes the data from each item that is too long for a list.
func Listed(items []Item) []Item {
	for i := range items {
		if more := len(items[i].Needs) - ListedNeeds; more > 0 {
			items[i].Needs, items[i].NeedsLeftOut = items[i].Needs[:ListedNeeds:ListedNeeds], more
		}
	}
	return items
}

// KindJob is the kind of an item of a group.
const KindJob = "job"

// Ref returns the item's reference.
func (i Item) Ref() ItemRef { return ItemRef{Run: i.Run, ID: i.ID} }

// DAGTask returns the task in the form of a run's result.
func (i Item) DAGTask() contract.DAGTask {
	return contract.DAGTask{State: i.State, Attempts: i.Attempt, Worker: i.Worker, Error: i.Error, FromRun: i.FromRun, FromTask: i.FromTask}
}

// JobError returns the failure of a failed item in the form of a run's result.
func (i Item) JobError() contract.JobError {
	return contract.JobError{DedupeKey: i.DedupeKey, Message: i.Error, JobID: i.ID, Worker: i.Worker, Items: i.Items, Attempts: i.Attempt}
}

// Ended reports whether the item is in a final state.
func (i Item) Ended() bool { return explain.EndedState(i.State) }

func (i Item) standing(open bool) Item {
	facts := explain.ItemStandingFacts{Open: open, Job: i.Kind == KindJob, Kind: i.Kind, State: i.State}
	if i.Wait != nil {
		facts.Wait = i.Wait.Code
	}
	i.Standing = explain.ItemStandingOf(facts)
	if i.Standing.State != explain.NeedsApproval { // Its wait is the prompt.
		i.Runs = explain.RunsIn(i.Waiting)
	}
	return i
}

// ItemFilter narrows [Runs.Items].
type ItemFilter struct {
	// States keeps items in one of these states; empty keeps all.
	States []string
	// ID keeps one item, or all tasks of an entry that fans out.
	ID string
	// DedupeKey keeps the job with this key, the tasks with this id or key, and those of fan-outs for this item.
	DedupeKey string
	// Worker keeps the items that this worker runs or ran last.
	Worker string
	// Offset and Limit select a page of the matches; Limit 0 means 200. After is the last job before it, instead of an offset.
	Offset, Limit int
	After         *pastjobs.Place
	// First ends the reading of ended jobs at Limit: the total may miss further ones.
	First bool
	// Work adds [Item.Work] and [Item.Batch].
	Work bool
}

// All is a limit that keeps all items.
const All = math.MaxInt

// itemsLimit is the default number of items in a list, tasksPage the number in one query.
const (
	itemsLimit = 200
	tasksPage  = 5000
)

// TaskStates lists the states of tasks.
func TaskStates() []string { return dagrun.StateNames() }

// ItemStates lists the states of jobs and tasks, each once.
func ItemStates() []string {
	states := contract.JobStates()
	for _, state := range TaskStates() {
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states
}

// Items lists the items of a run and returns the total number of matches: those held by an open run first, then those
// of its record. It needs a control plane for an open run, and for a closed run without a result.
func (r Runs) Items(ctx context.Context, ref RunRef, filter ItemFilter) ([]Item, int, error) {
	described, err := r.Describe(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	return r.itemsOf(ctx, described, filter)
}

func (r Runs) itemsOf(ctx context.Context, described Snapshot, filter ItemFilter) ([]Item, int, error) {
	if filter.Limit <= 0 {
		filter.Limit = itemsLimit
	}
	list := r.jobs
	if described.Kind == KindDAG {
		list = r.tasks
	}
	assigned, ofWorker := filter.selectsAssigned(), filter.Worker != "" && described.Kind == KindDAG
	if !assigned && !ofWorker {
		return list(ctx, described, filter)
	}
	// The run does not distinguish the two states, or the workers of tasks, so all items are read.
	wide := filter.Whole(All)
	if assigned {
		wide.States = append(slices.Clone(filter.States), contract.JobRunning)
	}
	items, _, err := list(ctx, described, wide)
	items = slices.DeleteFunc(items, func(item Item) bool {
		return assigned && !slices.Contains(filter.States, item.State) || ofWorker && item.Worker != filter.Worker
	})
	return filter.Page(items), len(items), err
}

// Whole returns the filter without its page, for a list of at most limit items.
func (f ItemFilter) Whole(limit int) ItemFilter {
	f.Offset, f.Limit = 0, limit
	if f.After != nil {
		f.After = new(f.After.Start())
	}
	return f
}

// Page returns the page of a list that has all items.
func (f ItemFilter) Page(items []Item) []Item {
	if f.After != nil {
		items = slices.DeleteFunc(items, func(item Item) bool { return !f.After.Before(item.Place) })
	}
	items = items[min(f.Offset, len(items)):]
	return items[:min(f.Limit, len(items))]
}

func (f ItemFilter) selectsAssigned() bool {
	return slices.Contains(f.States, contract.JobAssigned) != slices.Contains(f.States, contract.JobRunning)
}

func (r Runs) jobs(ctx context.Context, described Snapshot, filter ItemFilter) ([]Item, int, error) {
	choice, err := pastjobs.Choose(filter.States, filter.ID, filter.DedupeKey, filter.Offset, filter.Limit)
	if err != nil {
		return nil, 0, err
	}
	choice.Work, choice.Worker, choice.First, choice.After = filter.Work, filter.Worker, filter.First, filter.After
	held := func(choice pastjobs.Filter, after, offset, limit int) (contract.JobsQueryResult, error) {
		// Pinned, so that pages of one list come from one workflow run.
		return query[contract.JobsQueryResult](ctx, r.client, described.RunRef, contract.QueryJobs, contract.JobsQueryInput{
			States: choice.States, JobID: choice.JobID(), DedupeKey: choice.Key, Worker: choice.Worker, Offset: offset, After: after, Limit: limit, Work: choice.Work,
		})
	}
	if !described.Open() {
		ended, err := r.withResult(ctx, described)
		if err != nil {
			return nil, 0, err
		}
		if ended.Result != nil && !ended.Result.DryRun {
			held = pastjobs.None
		}
		described.record = ended.record
	}
	found, total, err := pastjobs.List(ctx, pastjobs.Run{ID: described.WorkflowID, Pages: r.client.pages, Record: described.record, Held: held}, choice)
	return mergeActive(described, itemsOfJobs(found)), total, err
}

func (r Runs) tasks(ctx context.Context, described Snapshot, filter ItemFilter) ([]Item, int, error) {
	if !described.Open() {
		ended, err := r.withResult(ctx, described)
		if err != nil {
			return nil, 0, err
		}
		if ended.final != nil {
			return r.endedTasks(ctx, ended, filter)
		}
	}
	return pages(described, filter, tasksPage, func(offset, limit int) ([]Item, int, error) {
		page, err := query[contract.TasksQueryResult](ctx, r.client, RunRef{WorkflowID: described.WorkflowID}, contract.QueryTasks, contract.TasksQueryInput{
			States: filter.States, Task: filter.ID, Key: filter.DedupeKey, Offset: offset, Limit: limit,
		})
		items := make([]Item, len(page.Tasks))
		for i, task := range page.Tasks {
			items[i] = Item{
				ID: task.ID, Kind: task.Kind, State: task.State, Needs: task.Needs, Waiting: task.Waiting, Until: task.Until, Timeout: task.Timeout, Worker: task.Worker,
				Attempt: task.Attempts, Error: task.Error, FromRun: task.FromRun, FromTask: task.FromTask, Redefined: task.Redefined, CreatedAt: task.CreatedAt, ModifiedAt: task.ModifiedAt, StartedAt: task.StartedAt, EndedAt: task.EndedAt, Value: task.Result,
			}
		}
		return items, page.Total, err
	})
}

func (r Runs) endedTasks(ctx context.Context, ended Snapshot, filter ItemFilter) ([]Item, int, error) {
	started, err := r.client.DAGs().arguments(ctx, ended.RunRef)
	if err != nil {
		return nil, 0, err
	}
	state, err := dagrun.Read(started.graph, ended.final)
	if err != nil {
		return nil, 0, fmt.Errorf("read the tasks of %s: %w", ended.WorkflowID, err)
	}
	views, total := state.Tasks(dagrun.Filter{States: filter.States, Task: filter.ID, Key: filter.DedupeKey, Offset: filter.Offset, Limit: filter.Limit})
	items := make([]Item, len(views))
	for i, v := range views {
		item := Item{
			Run: ended.RunRef, ID: v.ID, Kind: string(v.Kind), State: v.Name, Needs: v.Needs, Timeout: v.Timeout, Worker: v.Worker,
			Attempt: v.Attempts, Error: v.Error, FromRun: v.From, FromTask: v.FromTask, Redefined: v.Redefined, CreatedAt: v.CreatedAt, ModifiedAt: v.ModifiedAt, StartedAt: v.StartedAt, EndedAt: v.EndedAt, Value: v.Result,
		}
		items[i] = item.standing(false)
	}
	return items, total, nil
}

func pages(described Snapshot, filter ItemFilter, most int, ask func(offset, limit int) ([]Item, int, error)) ([]Item, int, error) {
	var items []Item
	for {
		page, total, err := ask(filter.Offset+len(items), min(most, filter.Limit-len(items)))
		if err != nil {
			return nil, 0, err
		}
		items = append(items, mergeActive(described, page)...)
		if len(page) == 0 || len(items) >= min(total-filter.Offset, filter.Limit) {
			return items, total, nil
		}
	}
}

func itemsOfJobs(jobs []pastjobs.Job) []Item {
	items := make([]Item, len(jobs))
	for i, job := range jobs {
		items[i] = Item{
			ID: job.JobID, Kind: KindJob, State: job.State, DedupeKey: job.DedupeKey, Items: job.Items, Batch: job.Batch, Summary: job.Summary,
			Priority: job.Priority, Waiting: job.Waiting, Wait: job.Wait, Worker: job.Worker, Attempt: job.Attempt, Error: job.Error,
			NotBefore: job.NotBefore, EstimatedRuntime: job.EstimatedRuntime, CreatedAt: job.CreatedAt, ModifiedAt: job.ModifiedAt, StartedAt: job.StartedAt, EndedAt: job.EndedAt, Work: job.Work, Value: job.Data, Place: job.Place,
		}
	}
	return items
}

func mergeActive(described Snapshot, items []Item) []Item {
	active := make(map[string]*ActiveItem, len(described.Active))
	for i := range described.Active {
		active[described.Active[i].ID] = &described.Active[i]
	}
	for i := range items {
		items[i].Run, items[i].Active = described.RunRef, active[items[i].ID]
		if on := items[i].Active; on != nil && items[i].State == contract.JobRunning && !on.Started {
			items[i].State = contract.JobAssigned
		}
		items[i] = items[i].standing(described.Open())
	}
	return items
}

// Item returns one item.
func (r Runs) Item(ctx context.Context, ref ItemRef) (Item, error) {
	ref, err := r.Locate(ctx, ref)
	if err != nil {
		return Item{}, err
	}
	items, total, err := r.Items(ctx, ref.Run, ItemFilter{ID: ref.ID})
	if err != nil {
		return Item{}, err
	}
	at := slices.IndexFunc(items, func(item Item) bool { return item.ID == ref.ID })
	if at < 0 {
		return Item{}, ref.missing(items, total)
	}
	return items[at], nil
}
