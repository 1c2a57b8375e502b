package openjobs

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// Jobs are all those of one group.
type Jobs struct {
	Open List
	// Last is the highest number.
	Last int
	// Seen are the dedupe keys that were proposed, while the group detects.
	Seen  map[string]struct{}
	Bytes int
	// Backlog has the jobs of pages that are not open yet; at most Window are.
	Backlog *backlog.Backlog
	Window  int
	// Record has the jobs that have ended, Failures the first that did not complete.
	Record   record.Book
	Failures []Failure

	resources map[string]int
}

// Failure is a job that failed, is stale or has expired.
type Failure struct {
	N     int               `json:"n"`
	Error contract.JobError `json:"e"`
}

// New returns no jobs. Each job of a page takes the resources.
func New(window int, resources map[string]int) Jobs {
	return Jobs{Seen: map[string]struct{}{}, Record: record.NewBook(), Backlog: backlog.New(window), Window: window, resources: resources}
}

// Add makes a job of a proposal.
func (js *Jobs) Add(p jobtype.Proposal, batchKey string, now time.Time) *Job {
	js.Last++
	j := &Job{N: js.Last, Work: proposed.Work{Proposal: p, BatchKey: batchKey}, CreatedAt: now}
	js.Open.Put(j)
	return j
}

// Left counts the jobs that have not ended.
func (js *Jobs) Left() int { return js.Open.Len() + js.Backlog.Len() }

// Sorted lists the open jobs by number.
func (js *Jobs) Sorted() []*Job { return js.Open.Sorted() }

// Replace takes other jobs and numbers them from 1 on.
func (js *Jobs) Replace(list []*Job) {
	js.Open, js.Last = List{}, len(list)
	for i, j := range list {
		j.N = i + 1
		js.Open.Put(j)
	}
}

// Close moves a job to the ended jobs.
func (js *Jobs) Close(j *Job) {
	js.Open.Remove(j)
	if j.Counted = true; j.Ref != nil {
		js.Backlog.Left(j.Queue)
	}
	js.Record.Add(j.Record())
	if j.State.Failed() && len(js.Failures) < contract.MaxJobErrors {
		js.Failures = append(js.Failures, Failure{N: j.N, Error: contract.JobError{
			JobID: contract.JobID(j.N), DedupeKey: j.FirstKey(), Items: len(j.Items), Message: j.Error, Worker: j.Worker,
		}})
	}
}

// Known lists, by number, the jobs that are open, and those that have ended and are not in pages.
func (js *Jobs) Known() ([]*Job, error) {
	ended, err := js.Record.Jobs()
	if err != nil {
		return nil, err
	}
	list := js.Sorted()
	for i := range ended {
		list = append(list, FromRecord(&ended[i]))
	}
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}

// Named lists the open jobs that a number, or else a key of a job type, means.
func (js *Jobs) Named(number int, jobType, key string) []*Job {
	if number > 0 {
		if j := js.Open.Get(number); j != nil {
			return []*Job{j}
		}
		return nil
	}
	hash := contract.DedupeHash(jobType, key)
	return slices.DeleteFunc(js.Sorted(), func(j *Job) bool { return !j.Carries(key) && j.Hash != hash })
}

// SeeOpen lists the dedupe keys of the open jobs as those that were proposed.
func (js *Jobs) SeeOpen() {
	js.Seen = map[string]struct{}{}
	for _, j := range js.Sorted() {
		for _, key := range j.Keys() {
			js.Seen[key] = struct{}{}
		}
	}
}

// Paged returns the job of a proposal in a page.
func (js *Jobs) Paged(next backlog.Job) *Job {
	class, ref := next.Class, next.ProposalRef
	return &Job{
		N: next.Number, Queue: next.Queue, Ref: &ref, CreatedAt: next.At,
		Work: proposed.Work{Proposal: jobtype.Proposal{
			Priority: class.Priority, Node: class.Node, Labels: class.Labels, EstimatedRuntime: jobtype.Duration(next.Estimate), Resources: js.resources,
		}},
	}
}

// MapBacklog adds the jobs of the backlog to a map.
func (js *Jobs) MapBacklog(result *contract.JobsQueryResult) {
	for _, r := range js.Backlog.Numbers() {
		result.Map = contract.MarkJobs(result.Map, r.First, r.Last, contract.JobPending)
	}
	result.Total += js.Backlog.Len()
}

// EndBacklog moves jobs of the backlog, those with keys only or all, to those that have ended.
func (js *Jobs) EndBacklog(keyed bool, state State, why string, createdAt, now time.Time) {
	for _, r := range js.Backlog.Drop(keyed) {
		js.Record.Add(record.Job{N: r.First, More: r.Last - r.First, State: string(state), Error: why, EndedAt: now, CreatedAt: createdAt})
	}
}

// Save splits the open jobs for a snapshot: those to which nothing has happened return to the backlog, or are claimed
// and nothing else. Travels has the numbers of jobs that the engine saves.
func (js *Jobs) Save(travels map[int]bool) (open, claimed []*Job, rest *backlog.Saved) {
	var back []backlog.Job
	open = slices.DeleteFunc(js.Sorted(), func(j *Job) bool {
		switch {
		case j.Ref == nil || travels[j.N] || j.Canceling != "":
			return false
		case j.Hash != 0 || j.Claiming:
			claimed = append(claimed, j)
			return true
		}
		back = append(back, backlog.Job{Number: j.N, Queue: j.Queue})
		return true
	})
	return open, claimed, js.Backlog.Save(back)
}
