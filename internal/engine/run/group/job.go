package group

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
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
	StateFailed     State = contract.JobFailed
	StateCanceled   State = contract.JobCanceled
	StateStale      State = contract.JobStale
	StateExpired    State = contract.JobExpired
	StateNotStarted State = contract.JobNotStarted
)

func stateOf(s run.State) State {
	switch s {
	case run.Completed:
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
	N        int              `json:"n"`
	Proposal jobtype.Proposal `json:"p"`
	// BatchKey is the batch that it belongs to. Items are the proposals that it
	// stands for where there are several; Proposal then says what they share.
	BatchKey string              `json:"bk,omitempty"`
	Items    []jobtype.BatchItem `json:"it,omitempty"`
	// From is the attempt of the detection that found it.
	From int `json:"f,omitempty"`
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
	StartedAt time.Time `json:"sa,omitzero"`
	EndedAt   time.Time `json:"ea,omitzero"`

	counted bool
}

// jobs are those of one group. Of jobs that have ended only a bounded sample is
// kept.
type jobs struct {
	open openJobs
	// last is the highest number.
	last int
	// keys are the dedupe keys that were proposed, while the group detects.
	keys  map[string]struct{}
	bytes int
	// ended are the jobs that ended last, failures those that did not complete;
	// endedBytes is what both weigh.
	ended      []*job
	failures   []*job
	endedBytes int
	// dropped counts jobs that ended and are in neither list.
	dropped int
}

// Bounds of what is remembered of jobs that have ended: how many, what they weigh in
// memory, and what of that travels when the group continues as new.
const (
	maxEnded         = 20_000
	maxFailures      = 2_000
	maxEndedBytes    = 8 << 20
	maxEndedToTravel = 4 << 20
)

func newJobs() jobs { return jobs{keys: map[string]struct{}{}} }

// add makes a job of a proposal.
func (js *jobs) add(p jobtype.Proposal, batchKey string) *job {
	js.last++
	j := &job{N: js.last, Proposal: p, BatchKey: batchKey}
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

// close moves a job to those that have ended, of which the oldest that completed
// are forgotten first.
func (js *jobs) close(j *job) {
	js.open.remove(j)
	j.counted = true
	j.Proposal = jobtype.Proposal{DedupeKey: j.Proposal.DedupeKey, Summary: j.Proposal.Summary, Priority: j.Proposal.Priority}
	j.BatchKey, j.Items, j.Checkpoint, j.Canceling = "", j.shortItems(), nil, ""
	js.endedBytes += j.weight()
	switch j.State {
	case StateFailed, StateStale, StateExpired:
		js.failures = append(js.failures, j)
	case StatePending, StateRunning, StateRecalling, StateHeld, StateCompleted, StateCanceled, StateNotStarted:
		js.ended = append(js.ended, j)
	}
	js.trim(maxEndedBytes)
}

// trim keeps the first failures, because they explain, and the last others.
func (js *jobs) trim(bytes int) {
	for len(js.ended) > 0 && (len(js.ended) > maxEnded || js.endedBytes > bytes) {
		js.endedBytes -= js.ended[0].weight()
		js.ended[0] = nil
		js.ended = js.ended[1:]
		js.dropped++
	}
	for n := len(js.failures); n > 0 && (n > maxFailures || js.endedBytes > bytes); n = len(js.failures) {
		js.endedBytes -= js.failures[n-1].weight()
		js.failures = js.failures[:n-1]
		js.dropped++
	}
}

// weight estimates what a job that has ended weighs in the state.
func (j *job) weight() int {
	const fields = 96
	size := fields + len(j.Proposal.DedupeKey) + len(j.Proposal.Summary) + len(j.Worker) + len(j.Error)
	for _, item := range j.Items {
		size += len(item.DedupeKey) + len(item.Summary) + fields/4
	}
	return size
}

// all lists the jobs that are known, by number.
func (js *jobs) all() []*job {
	list := append(append(js.sorted(), js.ended...), js.failures...)
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.N, b.N) })
	return list
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
		if j.carries(key) {
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
		NotBefore: p.NotBefore, ExpiresAt: p.ExpiresAt, Estimate: p.EstimatedRuntime.Std(), Bytes: j.bytes(),
		Checkpoint: j.Checkpoint, Done: j.Done,
	}
}

// bytes is what an attempt carries of the job.
func (j *job) bytes() int {
	size := proposalBytes(j.Proposal)
	for _, item := range j.Items {
		size += len(item.DedupeKey) + len(item.Summary) + len(item.Detail) + len(item.Params)
	}
	return size
}
