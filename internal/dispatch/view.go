package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// JobView is one job as people see it.
type JobView struct {
	N         int
	DedupeKey string
	// Items are the proposals that it stands for where there are several;
	// DedupeKey is the first one's.
	Items    []jobtype.BatchItem
	Summary  string
	Priority jobtype.Priority
	State    State
	// Wait says what a job that does not run waits for.
	Wait      Wait
	Worker    string
	Attempt   int
	Error     string
	NotBefore time.Time
	StartedAt time.Time
	EndedAt   time.Time
}

// Filter chooses jobs; a zero field chooses all.
type Filter struct {
	States    []State
	Job       int
	DedupeKey string
	Offset    int
	Limit     int
}

// Jobs returns one page of the jobs that the filter chooses, and how many it
// chooses in all.
func (g *Group) Jobs(f Filter, now time.Time) ([]JobView, int) {
	var views []JobView
	total := 0
	for _, j := range g.jobs {
		if !f.chooses(j) {
			continue
		}
		if total >= f.Offset && len(views) < f.Limit {
			views = append(views, g.viewOf(j, now))
		}
		total++
	}
	return views, total
}

func (f Filter) chooses(j *job) bool {
	return (f.Job == 0 || f.Job == j.N) &&
		(f.DedupeKey == "" || j.carries(f.DedupeKey)) &&
		(len(f.States) == 0 || slices.Contains(f.States, j.State))
}

func (g *Group) viewOf(j *job, now time.Time) JobView {
	return JobView{
		N: j.N, DedupeKey: j.firstKey(), Items: j.Items, Summary: j.Proposal.Summary, Priority: j.Proposal.Priority,
		State: j.State, Wait: g.waitOf(j, now), Worker: j.Worker, Attempt: j.Attempt, Error: j.errorText(),
		NotBefore: j.ReadyAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
	}
}

// errorText is why the job failed, or why it is being stopped: until its handler
// has ended, at most heartbeat_timeout and cancelPatience, nothing else tells that
// somebody was heard.
func (j *job) errorText() string {
	if j.State == StateRunning && j.Canceling != "" {
		return "it is being canceled: " + j.Canceling
	}
	return j.Error
}

// WorkerUse is one worker as the group sees it.
type WorkerUse struct {
	ID, State, Reason string
	Usable            bool
	InFlight, Slots   int
	// Others is how many of its slots others use, as far as is known.
	Others int
}

// Status is the group as a whole.
type Status struct {
	Phase            Phase
	Paused           bool
	PauseNote        string
	StartedAt        time.Time
	Deadline         time.Time
	Counts           Counts
	Pending, Running int
	Detector         string
	// Wait says what the group as a whole waits for, Waiting the same or more for
	// people.
	Wait    Wait
	Waiting string
	// PausedAt is when the pause began.
	PausedAt time.Time
	// Window is the span in which the group may start jobs; nil: always.
	Window  *Window
	Workers []WorkerUse
	// ByWorker counts completed jobs.
	ByWorker map[string]int
}

// Summary describes the group without its workers: cheap enough for every turn
// of a workflow in a fleet of a thousand.
func (g *Group) Summary() Status {
	deadline := g.deadline
	if g.phase == PhaseAway {
		deadline = time.Time{} // Its time stands still.
	}
	return Status{
		Phase: g.phase, Paused: g.paused, PauseNote: g.pauseNote, StartedAt: g.startedAt, Deadline: deadline,
		Counts: g.counts, Pending: g.open - g.inFlight, Running: g.inFlight, Detector: g.detect.Worker,
		ByWorker: g.byWorker, Waiting: g.groupWaiting(), Wait: g.groupWait(), PausedAt: g.pausedAt, Window: g.cfg.Window,
	}
}

// Status describes the group and its workers at now.
func (g *Group) Status(now time.Time) Status {
	s := g.Summary()
	for _, w := range g.workers.Members() {
		reason := w.Reason(now)
		s.Workers = append(s.Workers, WorkerUse{
			ID: w.ID, State: w.State, Reason: reason, Usable: reason == "" && (w.Offer.Execute || w.Offer.Detect),
			InFlight: w.InFlight, Slots: w.Offer.Slots, Others: w.Load.Others,
		})
	}
	return s
}

func (g *Group) groupWaiting() string {
	switch {
	case g.phase == PhaseEnded:
		return ""
	case g.paused:
		return g.pauseText()
	case g.phase == PhaseAway && g.away.Until.IsZero():
		return g.away.Detail
	case g.phase == PhaseAway:
		return fmt.Sprintf("%s until %s: %s", g.away.Code, g.away.Until.UTC().Format(time.RFC3339), g.away.Detail)
	case g.stopping != stopNone:
		return "stopping: " + g.reason
	case g.phase == PhaseDetecting && !g.detect.Running && g.busyDetectors() != "":
		return "a detect slot of " + g.busyDetectors()
	case g.phase == PhaseDetecting && !g.detect.Running:
		return fmt.Sprintf("no worker with handler %s is available to detect", g.cfg.Handler)
	}
	return ""
}

// JobError is one job that did not complete, or one proposal that was refused.
type JobError struct {
	N                          int
	DedupeKey, Message, Worker string
	// Items is how many proposals the job stands for, if several.
	Items int
}

// Errors lists jobs that failed, are stale or expired, at most limit, then the
// proposals that were refused.
func (g *Group) Errors(limit int) []JobError {
	var list []JobError
	for _, j := range g.jobs {
		if len(list) >= limit {
			return list
		}
		switch j.State {
		case StateFailed, StateStale, StateExpired:
			list = append(list, JobError{N: j.N, DedupeKey: j.firstKey(), Items: len(j.Items), Message: j.Error, Worker: j.Worker})
		case StatePending, StateRunning, StateRecalling, StateHeld, StateCompleted, StateCanceled, StateNotStarted:
		}
	}
	for _, message := range g.detect.Errors {
		if len(list) < limit {
			list = append(list, JobError{Message: message})
		}
	}
	return list
}

// Proposals returns the first accepted proposals, most urgent first.
func (g *Group) Proposals(limit int) []jobtype.Proposal {
	sorted := slices.Clone(g.jobs)
	slices.SortStableFunc(sorted, func(a, b *job) int {
		return cmp.Compare(b.Proposal.Priority.Rank(), a.Proposal.Priority.Rank())
	})
	var list []jobtype.Proposal
	for _, j := range sorted[:min(limit, len(sorted))] {
		list = append(list, j.Proposal)
	}
	return list
}

// pendingByUrgency lists what has not started, most urgent first.
func (g *Group) pendingByUrgency() []*job {
	var pending []*job
	for _, j := range g.jobs {
		if j.State == StatePending {
			pending = append(pending, j)
		}
	}
	slices.SortStableFunc(pending, func(a, b *job) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	return pending
}
