package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// State is the state of a job.
type State = openjobs.State

// job is a proposal, or a batch of them, with what is known of it besides the
// engine's item.
type job = openjobs.Job

// The states of a job.
const (
	StatePending    = openjobs.StatePending
	StateRunning    = openjobs.StateRunning
	StateRecalling  = openjobs.StateRecalling
	StateHeld       = openjobs.StateHeld
	StateCompleted  = openjobs.StateCompleted
	StateWarning    = openjobs.StateWarning
	StateFailed     = openjobs.StateFailed
	StateCanceled   = openjobs.StateCanceled
	StateStale      = openjobs.StateStale
	StateExpired    = openjobs.StateExpired
	StateNotStarted = openjobs.StateNotStarted
)

// jobs are those of one group.
type jobs struct {
	open openjobs.List
	// last is the highest number.
	last int
	// keys are the dedupe keys that were proposed, while the group detects.
	keys  map[string]struct{}
	bytes int
	// backlog has the jobs of pages that are not open yet.
	backlog *backlog.Backlog
	// record has the jobs that have ended, failures the first that did not complete.
	record   record.Book
	failures []failure
}

// failure is a job that failed, is stale or has expired.
type failure struct {
	N     int               `json:"n"`
	Error contract.JobError `json:"e"`
}

func newJobs(cfg Config) jobs {
	return jobs{keys: map[string]struct{}{}, record: record.NewBook(), backlog: backlog.New(cfg.window())}
}

// add makes a job of a proposal.
func (js *jobs) add(p jobtype.Proposal, batchKey string, now time.Time) *job {
	js.last++
	j := &job{N: js.last, Work: proposed.Work{Proposal: p, BatchKey: batchKey}, CreatedAt: now}
	js.open.Put(j)
	return j
}

// sorted lists the open jobs by number.
func (js *jobs) sorted() []*job { return js.open.Sorted() }

// replace takes other jobs and numbers them from 1 on.
func (js *jobs) replace(list []*job) {
	js.open, js.last = openjobs.List{}, len(list)
	for i, j := range list {
		j.N = i + 1
		js.open.Put(j)
	}
}

// close moves a job to those that have ended.
func (js *jobs) close(j *job) {
	js.open.Remove(j)
	if j.Counted = true; j.Ref != nil {
		js.backlog.Left(j.Queue)
	}
	js.record.Add(j.Record())
	switch j.State {
	case StateFailed, StateStale, StateExpired:
		if len(js.failures) < contract.MaxJobErrors {
			js.failures = append(js.failures, failure{N: j.N, Error: contract.JobError{
				JobID: contract.JobID(j.N), DedupeKey: j.FirstKey(), Items: len(j.Items), Message: j.Error, Worker: j.Worker,
			}})
		}
	case StatePending, StateRunning, StateRecalling, StateHeld, StateCompleted, StateWarning, StateCanceled, StateNotStarted:
	}
}

// known lists, by number, the jobs that are open, and those that have ended and are not
// in pages.
func (js *jobs) known() ([]*job, error) {
	ended, err := js.record.Jobs()
	if err != nil {
		return nil, err
	}
	list := js.sorted()
	for i := range ended {
		list = append(list, openjobs.FromRecord(&ended[i]))
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}

// named lists the open jobs that a number, or else a key, means.
func (js *jobs) named(number int, key string) []*job {
	if number > 0 {
		if j := js.open.Get(number); j != nil {
			return []*job{j}
		}
		return nil
	}
	var list []*job
	for _, j := range js.sorted() {
		if j.Carries(key) {
			list = append(list, j)
		}
	}
	return list
}

// item is what the engine is offered.
func (g *Group) item(j *job) run.Item {
	p := &j.Proposal
	return run.Item{
		ID: j.N, Work: theWork, Order: -int64(p.Priority.Rank()),
		Want:      run.Want{Node: p.Node, Labels: p.Labels, Nowhere: g.runsDAG(p)},
		Needs:     run.Needs{Pools: p.Resources, Exclusive: p.Exclusive, Shared: p.Shared},
		NotBefore: p.NotBefore, ExpiresAt: p.ExpiresAt, Estimate: p.EstimatedRuntime.Std(), Bytes: j.Bytes(),
		Checkpoint: j.Checkpoint, Done: j.Done,
	}
}

// seen lists the dedupe keys of the open jobs as those that were proposed.
func (js *jobs) seen() {
	js.keys = map[string]struct{}{}
	for _, j := range js.sorted() {
		for _, key := range j.Keys() {
			js.keys[key] = struct{}{}
		}
	}
}
