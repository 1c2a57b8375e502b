package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

const defaultJobsLimit = 200

// Jobs returns one page of the jobs that the filter chooses, by number, how many it chooses in all,
// and the pages with jobs that have ended, which it does not look at.
func (g *views) Jobs(in contract.JobsQueryInput, now time.Time) (contract.JobsQueryResult, error) {
	number := 0
	if in.JobID != "" {
		n, ok := contract.JobNumber(in.JobID)
		if !ok {
			return contract.JobsQueryResult{}, fmt.Errorf("job id %q: write it like %s", in.JobID, contract.JobID(1))
		}
		number = n
	}
	limit := cmp.Or(in.Limit, defaultJobsLimit)
	result := contract.JobsQueryResult{Jobs: []contract.JobView{}, Record: g.jobs.Record.Pages()}
	known, err := g.jobs.Known()
	if err != nil {
		return result, err
	}
	if in.Brief {
		for _, j := range known {
			result.Map = contract.MarkJobs(result.Map, j.N, j.N+j.More, string(g.stateOf(j)))
			result.Total += 1 + j.More
		}
		if g.numbered() {
			g.jobs.MapBacklog(&result)
		}
		return result, nil
	}
	chosen := g.chosenBacklog(in, number, &result)
	hash := contract.DedupeHash(g.cfg.JobType, in.DedupeKey)
	for _, j := range known {
		if number != 0 && (number < j.N || number > j.N+j.More) || in.DedupeKey != "" && !j.Carries(in.DedupeKey) && j.Hash != hash {
			continue
		}
		if len(in.States) > 0 && !slices.Contains(in.States, string(g.stateOf(j))) {
			continue
		}
		if item, _ := g.engine.View(j.N); in.Worker != "" && cmp.Or(item.Worker, j.Worker) != in.Worker {
			continue
		}
		if number != 0 {
			chosen = append(chosen, jobs{number, number, j})
		} else {
			chosen = append(chosen, jobs{j.N, j.N + j.More, j})
		}
	}
	slices.SortFunc(chosen, func(a, b jobs) int { return cmp.Compare(a.first, b.first) })
	for _, some := range chosen {
		for n := some.first + max(in.Offset-result.Total, in.After+1-some.first, 0); n <= some.last && len(result.Jobs) < limit; n++ {
			result.Jobs = append(result.Jobs, g.listed(some.job, n, in, now))
		}
		result.Total += some.last - some.first + 1
	}
	return result, nil
}

// jobs are those of the numbers first to last: of one job, or of the backlog without a job.
type jobs struct {
	first, last int
	job         *job
}

func (g *views) listed(j *job, n int, in contract.JobsQueryInput, now time.Time) contract.JobView {
	if j == nil {
		j = g.backlogJob(n)
	}
	one := *j
	one.N = n
	view := g.viewOf(&one, now)
	if in.JobID != "" || in.DedupeKey != "" || in.Work {
		view.Batch = j.ShortItems()
	}
	if in.Work && !j.State.Done() {
		view.Work = j.Again()
	}
	return view
}

// stateOf is the state of a job, open or not.
func (g *work) stateOf(j *job) State {
	switch {
	case j.Counted:
		return j.State
	case j.Canceling != "":
		return openjobs.StateOf(j.Requested(), false) // It is counted when the group has its claims.
	}
	view, _ := g.engine.View(j.N)
	switch view.Phase {
	case run.PhaseRunning:
		return StateRunning
	case run.PhaseGrace:
		return StateRecalling
	case run.PhaseLost:
		return StateHeld
	case run.PhaseNone, run.PhaseWaiting, run.PhaseQueued, run.PhaseAsking, run.PhaseGranted, run.PhaseLate, run.PhaseDue:
	}
	return StatePending
}

func (g *views) viewOf(j *job, now time.Time) contract.JobView {
	view := contract.JobView{
		JobID: contract.JobID(j.N), DedupeKey: j.FirstKey(), Items: len(j.Items), Summary: j.Proposal.Summary, Priority: j.Proposal.Priority,
		State: string(g.stateOf(j)), Worker: j.Worker, Attempt: j.Attempt, Error: j.Error, NotBefore: j.Proposal.NotBefore,
		EstimatedRuntime: j.Proposal.EstimatedRuntime, CreatedAt: j.CreatedAt, ModifiedAt: instant.Later(j.CreatedAt, j.EndedAt), StartedAt: j.StartedAt, EndedAt: j.EndedAt, Data: record.Data(j.Left, j.State.Done()),
	}
	if j.Counted || j.Canceling != "" {
		view.Error = cmp.Or(j.Error, j.Canceling)
		return view
	}
	if item, ok := g.engine.View(j.N); ok {
		view.Worker, view.Attempt, view.Error, view.NotBefore, view.StartedAt = item.Worker, item.Attempt, item.Error, item.ReadyAt, item.StartedAt
		view.ModifiedAt = instant.Later(j.CreatedAt, item.ChangedAt)
		if item.Phase == run.PhaseRunning && item.Canceling != "" {
			view.Error = explain.TextCanceling(item.Canceling)
		}
	}
	wait := g.waitOf(j, now)
	view.Waiting, view.Wait = wait.Detail, reasonOf(wait, j.N)
	return view
}

// Summary describes the group without its workers: cheap enough for every turn of a
// workflow in a fleet of a thousand.
func (g *views) Summary(now time.Time) contract.GroupStatus {
	wait := g.Wait(now)
	s := contract.GroupStatus{
		JobType: g.cfg.JobType, DAG: g.cfg.DAG, Phase: string(g.phase), Paused: g.paused(), PauseNote: g.engine.Paused().Note, StartedAt: g.clock.StartedAt,
		Counts: g.tally.Counts, Pending: g.jobs.Left() - g.engine.InFlight(), Running: g.engine.InFlight(), Detector: g.detect.Worker,
		Wait: reasonOf(wait, 0), Waiting: g.waitingText(wait), Deduped: g.tally.Deduped, HeldBack: g.tally.Holds(g.cfg.JobType), Policy: g.cfg.Policy,
	}
	if !g.turn.active() {
		s.Deadline = g.clock.Deadline
	}
	if g.cfg.Turn {
		s.Lane, s.LaneReleasedAt = g.cfg.Lane, g.lane.Since
	}
	if w := g.closing; g.cfg.Windows && !g.turn.active() {
		s.Window = &contract.GroupWindow{Closes: w.Closes, Next: w.Next, Learned: jobtype.Duration(w.Learned), LearnedOf: w.LearnedOf}
	}
	return s
}

// Status describes the group, its workers and the waits of its jobs.
func (g *views) Status(now time.Time) contract.GroupStatus {
	s := g.Summary(now)
	s.Waits, s.Missed = g.Waits(now), g.missedWorkers(contract.MaxJobErrors)
	s.Targets, s.Detecting, s.Phases = len(g.detect.Targets), len(g.detect.Open), g.phases
	s.Explanations, s.ModifiedAt = g.detect.Explained, g.engine.ChangedAt()
	for _, n := range g.engine.Elsewhere(maxWaits) {
		s.DAGJobs = append(s.DAGJobs, contract.JobID(n))
	}
	for _, w := range g.engine.Workers(theWork, now) {
		s.Workers = append(s.Workers, contract.GroupWorker{
			ID: w.ID, State: w.State, Usable: w.Reason == "", Reason: w.Reason, Running: w.InFlight, Slots: w.Slots, Others: w.Others,
		})
	}
	return s
}

// ByWorker counts completed jobs.
func (g *work) ByWorker() map[string]int { return maps.Clone(g.tally.ByWorker) }

// Errors lists jobs that failed, are stale or expired, at most limit, then the
// proposals that were refused.
func (g *search) Errors(limit int) []contract.JobError {
	var list []contract.JobError
	failures := slices.Clone(g.jobs.Failures)
	slices.SortFunc(failures, func(a, b openjobs.Failure) int { return cmp.Compare(a.N, b.N) })
	for _, f := range failures[:min(limit, len(failures))] {
		list = append(list, f.Error)
	}
	for _, message := range g.detect.Errors {
		if len(list) < limit {
			list = append(list, contract.JobError{Message: message})
		}
	}
	return list
}

// Proposals returns the first accepted proposals, most urgent first, as many as fit
// into bytes.
func (g *work) Proposals(limit, bytes int) []jobtype.Proposal {
	sorted := g.jobs.Sorted()
	slices.SortStableFunc(sorted, func(a, b *job) int {
		return cmp.Compare(b.Proposal.Priority.Rank(), a.Proposal.Priority.Rank())
	})
	var list []jobtype.Proposal
	for _, j := range sorted {
		if bytes -= proposed.Bytes(j.Proposal); len(list) >= limit || bytes < 0 {
			break
		}
		list = append(list, j.Proposal)
	}
	return list
}

// Result is the result of the group's workflow, without the parts that only the workflow has.
func (g *views) Result(now time.Time) contract.JobGroupResult {
	from, s := g.clock.From(), g.Summary(now)
	result := contract.JobGroupResult{
		JobType: g.cfg.JobType, Outcome: g.outcome, Code: g.halt.Why.Code, Reason: g.halt.Why.String(), DryRun: g.cfg.DryRun, Counts: g.tally.Counts,
		StartedAt: from, EndedAt: now, DurationMS: now.Sub(from).Milliseconds(), Detector: g.detect.Worker, Explanations: g.detect.Explained, ByWorker: g.ByWorker(),
		Errors: g.Errors(contract.MaxJobErrors), HeldBack: s.HeldBack, Deduped: g.tally.Deduped, Missed: g.missedWorkers(contract.MaxJobErrors), Phases: g.phases,
	}
	if g.cfg.DryRun {
		result.Proposals = g.Proposals(contract.MaxDryRunProposals, 1<<20)
	}
	return result
}
