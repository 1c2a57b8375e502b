package group

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// State is the state of a job, as package contract names it.
type State string

// The states of a job.
const (
	StatePending    State = contract.JobPending
	StateRunning    State = contract.JobRunning
	StateRecalling  State = contract.JobRecalling
	StateHeld       State = contract.JobHeld
	StateCompleted  State = contract.JobCompleted
	StateWarning    State = contract.JobWarning
	StateFailed     State = contract.JobFailed
	StateCanceled   State = contract.JobCanceled
	StateStale      State = contract.JobStale
	StateExpired    State = contract.JobExpired
	StateNotStarted State = contract.JobNotStarted
)

// done reports whether the work was done.
func (s State) done() bool { return s == StateCompleted || s == StateWarning }

// stateOf is the state of a job that has settled. A success that warns of something has a
// state of its own.
func stateOf(s run.State, warns bool) State {
	switch s {
	case run.Completed:
		if warns {
			return StateWarning
		}
		return StateCompleted
	case run.Failed:
		return StateFailed
	case run.Canceled:
		return StateCanceled
	case run.Stale:
		return StateStale
	case run.Expired:
		return StateExpired
	case run.NotStarted:
		return StateNotStarted
	case run.Open:
	}
	return StatePending
}

// job is a proposal, or a batch of them, with what is known of it besides the
// engine's item.
type job struct {
	proposed.Work

	N int `json:"n"`
	// From is the attempt of the detection that found it.
	From int `json:"f,omitempty"`
	// Late: it was found while the group ran, and is not claimed yet.
	Late bool `json:"lt,omitempty"`
	// Checkpoint and Done are what an earlier group left for it.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"dn,omitempty"`
	// Canceling is why it is not begun once its key is claimed.
	Canceling string `json:"x,omitempty"`
	// The rest is of a job that has ended, or was started.
	State     State     `json:"s,omitempty"`
	Attempt   int       `json:"a,omitempty"`
	Worker    string    `json:"w,omitempty"`
	Error     string    `json:"e,omitempty"`
	CreatedAt time.Time `json:"ca,omitzero"`
	StartedAt time.Time `json:"sa,omitzero"`
	EndedAt   time.Time `json:"ea,omitzero"`

	counted bool
	// left is the work of a job that has ended, or the data of one that was done.
	left string
}

// jobs are those of one group.
type jobs struct {
	open openJobs
	// last is the highest number.
	last int
	// keys are the dedupe keys that were proposed, while the group detects.
	keys  map[string]struct{}
	bytes int
	// record has the jobs that have ended, failures the first that did not complete.
	record   record.Book
	failures []failure
}

// failure is a job that failed, is stale or has expired.
type failure struct {
	N     int               `json:"n"`
	Error contract.JobError `json:"e"`
}

func newJobs() jobs { return jobs{keys: map[string]struct{}{}, record: record.NewBook()} }

// add makes a job of a proposal.
func (js *jobs) add(p jobtype.Proposal, batchKey string, now time.Time) *job {
	js.last++
	j := &job{N: js.last, Work: proposed.Work{Proposal: p, BatchKey: batchKey}, CreatedAt: now}
	js.open.put(j)
	return j
}

// sorted lists the open jobs by number.
func (js *jobs) sorted() []*job { return js.open.sorted() }

// replace takes other jobs and numbers them from 1 on.
func (js *jobs) replace(list []*job) {
	js.open, js.last = openJobs{}, len(list)
	for i, j := range list {
		j.N = i + 1
		js.open.put(j)
	}
}

// close moves a job to those that have ended.
func (js *jobs) close(j *job) {
	js.open.remove(j)
	j.counted = true
	js.record.Add(record.Job{
		N: j.N, Attempt: j.Attempt, State: string(j.State), Worker: j.Worker, Error: j.Error, Key: j.Proposal.DedupeKey, Summary: j.Proposal.Summary,
		Priority: j.Proposal.Priority, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt, Items: j.ShortItems(), Work: j.work(),
	})
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

// work is what a retry of the job submits; empty: the job was done.
func (j *job) work() string {
	if j.counted && j.left != "" || j.State.done() {
		return j.left
	}
	return record.Work(j.Proposal, j.Items, j.Parts, j.BatchKey)
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
		list = append(list, jobOf(&ended[i]))
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}

func jobOf(r *record.Job) *job {
	return &job{
		N: r.N, Attempt: r.Attempt, State: State(r.State), Worker: r.Worker, Error: r.Error, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		Work: proposed.Work{Items: r.Items, Proposal: jobtype.Proposal{DedupeKey: r.Key, Summary: r.Summary, Priority: r.Priority}}, counted: true, left: r.Work,
	}
}

// named lists the open jobs that a number, or else a key, means.
func (js *jobs) named(number int, key string) []*job {
	if number > 0 {
		if j := js.open.get(number); j != nil {
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
