package group

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/internal/engine/run/group/targets"
	"github.com/roundsman/roundsman/jobtype"
)

// detection is the state of the group's detection: on one worker, in several attempts if necessary, or on every worker.
type detection struct {
	// Attempt is the number of the last attempt, Open are those that run, oldest first.
	Attempt int        `json:"attempt"`
	Open    []*session `json:"open,omitempty"`
	// Worker detects or detected, where one does.
	Worker string `json:"worker,omitempty"`
	Avoid  string `json:"avoid,omitempty"`
	Losses int    `json:"losses,omitempty"`
	// Busy has the processes without a slot for it, and the times of their next tries. Refusals counts their refusals,
	// BusySince is the time of the first.
	Busy      map[string]time.Time `json:"busy,omitempty"`
	Refusals  int                  `json:"refusals,omitempty"`
	BusySince time.Time            `json:"busy_since,omitzero"`
	// Explained are the detectors' explanations, at most [jobtype.MaxExplanations].
	Explained []string `json:"explained,omitempty"`
	// CannotStart is the error of the last detection if its program did not start.
	CannotStart string `json:"cannot_start,omitempty"`
	// Lacks has the error of each process that does not have the program of the detection.
	Lacks  map[string]string `json:"lacks,omitempty"`
	Errors []string          `json:"errors,omitempty"`
	// Retries counts the attempts after a failure of the handler, RetryAt is when the next one
	// may begin, Failing why the last one failed.
	Retries int       `json:"retries,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	Failing string    `json:"failing,omitempty"`
	// Failed is why the detection as a whole failed, FailedCode its code, if it has one.
	Failed     string        `json:"failed,omitempty"`
	FailedCode contract.Code `json:"failed_code,omitempty"`
	// Targets are the workers of a group that is for every worker, by id. Since is when
	// one of them detected last.
	Targets targets.Book `json:"targets,omitempty"`
	Since   time.Time    `json:"since,omitzero"`
	// Late are the detections while the group runs.
	Late late `json:"late,omitzero"`
	// pages counts those that came in this workflow run.
	pages int
}

// session is one attempt of a detection on one worker.
type session struct {
	Attempt  int          `json:"n"`
	Worker   string       `json:"w"`
	Instance string       `json:"i"`
	Answers  []PageAnswer `json:"a,omitempty"`
	// EndsBy is when the server has ended it at the latest.
	EndsBy time.Time `json:"e,omitzero"`
	// Tally counts the proposals of its pages.
	Tally tally.Found `json:"t,omitzero"`
}

const (
	maxInvalidErrors = 10
	// detectPauseMost is the longest that a worker without a detect slot is left
	// alone; the first time it is the engine's CoolDown, doubled each time.
	detectPauseMost = 30 * time.Second
	maxErrorBytes   = 1024
	// detectRetryPause is how long a failed detection is not tried again; doubled each
	// time. The restart of a database takes some seconds.
	detectRetryPause     = 5 * time.Second
	detectRetryPauseMost = 2 * time.Minute
)

// running reports whether a detection runs.
func (d *detection) running() bool { return len(d.Open) > 0 }

// session is the open one of that attempt; nil: there is none.
func (d *detection) session(attempt int) *session {
	if i := slices.IndexFunc(d.Open, func(s *session) bool { return s.Attempt == attempt }); i >= 0 {
		return d.Open[i]
	}
	return nil
}

func (d *detection) invalid(message string) {
	if len(d.Errors) < maxInvalidErrors {
		d.Errors = append(d.Errors, clip(message))
	}
}

// explain keeps explanations of a detector. prefix names one of several detectors.
func (d *detection) explain(lines []string, prefix string) {
	for _, line := range lines {
		if len(d.Explained) < jobtype.MaxExplanations {
			d.Explained = append(d.Explained, jobtype.Clip(prefix+line, jobtype.MaxExplanationBytes))
		}
	}
}

func clip(message string) string { return jobtype.ClipCause(message, maxErrorBytes) }

// detects reports whether the group's work is found by a detection.
func (c Config) detects() bool { return !c.Submitted && c.DAG == "" && !c.EachWorker }

// proposeWhole proposes the one job of a group that detects nothing.
func (g *search) proposeWhole(now time.Time) {
	var answer PageAnswer
	g.takeProposal(nil, jobtype.Proposal{DedupeKey: g.cfg.DAG, Summary: "DAG " + g.cfg.DAG}, "", &answer, now)
	g.tally.Counts.Detected = 1
}

// runsDAG reports whether the job of a proposal is a run of a DAG.
func (c Config) runsDAG(p *jobtype.Proposal) bool { return c.DAG != "" || p.DAG != "" }

// advanceDetection starts a detection when a worker can do it.
func (g *search) advanceDetection(now time.Time) {
	switch {
	case g.detect.running() && (!g.cfg.DetectEvery || g.halt.On()):
		return
	case g.halt.On():
		g.resetProposals() // A part of the workers may have detected.
		g.phase = PhaseRunning
		return
	case g.paused():
		g.engine.Watch() // The detector is chosen when the pause is over.
		return
	case g.cfg.DetectEvery:
		g.detectOnEvery(now)
		return
	case now.Before(g.detect.RetryAt) || g.pagesSpent():
		g.engine.Watch()
		return
	}
	w, ok := g.detector(now)
	if why := g.detectorsLack(); !ok && why != "" {
		g.failDetection(why)
		g.detect.FailedCode = contract.CodeNotInstalled
		return
	}
	if !ok {
		g.engine.Watch()
		return
	}
	g.resetProposals()
	g.detect.Errors, g.detect.Explained, g.detect.Failed, g.detect.Worker = nil, nil, "", w.ID
	g.startDetection(w.ID, w.Instance, now)
}

func (g *search) startDetection(id, instance string, now time.Time) {
	d := &g.detect
	d.Attempt++
	timeout := min(g.cfg.Policy.DetectionTimeout.Std(), g.timeLeft(now))
	d.Open = append(d.Open, &session{Attempt: d.Attempt, Worker: id, Instance: instance, EndsBy: now.Add(run.TakeTimeout + timeout)})
	g.do(StartDetection{Attempt: d.Attempt, ID: id, Instance: instance, Timeout: timeout, Inline: g.cfg.DetectEvery, KeyedInGroup: g.cfg.keyedInGroup()})
}

// endsBefore reports whether all that the group waits for is one detection that has
// ended by then: no other timer is needed.
func (d *detection) endsBefore(at time.Time) bool {
	return len(d.Open) == 1 && len(d.Targets) == 0 && d.Open[0].EndsBy.Before(at)
}

// cancelDetections cancels the running detections.
func (g *search) cancelDetections() {
	for _, s := range g.detect.Open {
		g.do(CancelDetection{Attempt: s.Attempt})
	}
}

// timeLeft is how long the group may still run.
func (g *times) timeLeft(now time.Time) time.Duration { return g.clock.Left(g.closes(), now) }

// resetProposals drops everything that was found.
func (g *work) resetProposals() {
	g.jobs, g.tally.Counts = openjobs.New(g.cfg.window(), g.cfg.Resources), contract.GroupCounts{}
}

func (v DetectionEnded) apply(g *Group, now time.Time) { g.detectionEnded(v, now) }

func (g *search) detectionEnded(v DetectionEnded, now time.Time) {
	d := &g.detect
	s := d.session(v.Attempt)
	if s == nil {
		return
	}
	if v.Failure == contract.FailureNone && v.Pages == 0 && len(v.Proposals) > 0 && !g.halt.On() {
		g.takePage(s, Page{Attempt: v.Attempt, Proposals: v.Proposals, BatchKeys: v.BatchKeys}, now)
		v.Pages = 1
	}
	d.Open = slices.DeleteFunc(d.Open, func(open *session) bool { return open == s })
	lost := v.Failure == contract.FailureNone && v.Pages != len(s.Answers)
	if !g.halt.On() && (v.Failure == contract.FailureNotTaken || v.Failure == contract.FailureWorkerLost) {
		g.engine.Suspect(now, s.Worker, s.Instance)
	}
	switch {
	case g.halt.On() && g.begun:
		g.drop(s)
	case g.halt.On():
		g.resetProposals()
	case g.cfg.DetectEvery:
		g.targetDetected(s, v, lost, now)
	case v.Failure != contract.FailureNone:
		g.detectionFailed(s, v, now)
	case lost:
		g.failDetection(explain.TextPagesLost(v.Pages, len(s.Answers)))
	default:
		d.Busy, d.CannotStart = nil, ""
		d.explain(v.Explanations, "")
		g.engine.Started(s.Worker, s.Instance)
		g.countDetected(v)
		g.detected(now)
	}
}

// countDetected adds the counts of the detector itself.
func (g *search) countDetected(v DetectionEnded) {
	g.tally.Counts.Detected += v.Emitted
	g.tally.Counts.DetectedMore = g.tally.Counts.DetectedMore || v.More
	g.tally.Counts.Duplicates += v.Duplicates
	g.tally.Counts.Surplus += v.Surplus
	g.tally.Counts.Invalid += v.Invalid
	for _, message := range v.InvalidErrors {
		g.detect.invalid(message)
	}
}

// detected continues once everything that is to be done is known.
func (g *search) detected(now time.Time) {
	g.noteDetected()
	g.jobs.Seen = nil
	switch {
	case g.cfg.DryRun:
		g.countBatches()
		g.phase = PhaseRunning
	case g.claims():
		g.phase = PhaseClaiming
		g.do(ClaimKeys{Turn: g.turn.Number})
	default:
		g.beginRunning(now)
	}
}

// claims reports whether there are keys to claim.
func (g *work) claims() bool {
	return g.cfg.Claims && slices.ContainsFunc(g.jobs.Sorted(), func(j *job) bool { return j.FirstKey() != "" || j.Hash != 0 })
}

// beginRunning makes every accepted proposal a job that may start.
func (g *work) beginRunning(now time.Time) {
	g.phase, g.begun = PhaseRunning, true
	list := g.gather(g.jobs.Sorted())
	g.jobs.Replace(list)
	g.jobs.Backlog.SetBase(g.jobs.Last)
	g.offer(list, now)
}

// offer makes jobs that may start.
func (g *work) offer(list []*job, now time.Time) {
	for _, j := range list {
		g.resumeFrom(j)
		if j.Canceling != "" {
			g.finish(j, &run.Report{Kind: run.Settled, Item: j.N, State: j.Requested(), Message: j.Canceling}, now)
			continue
		}
		g.engine.Offer(now, g.cfg.item(j))
	}
}

// detectionFailed tries again where the worker was the cause, not the handler. Half a
// detection must not look like a whole one.
func (g *search) detectionFailed(s *session, v DetectionEnded, now time.Time) {
	d := &g.detect
	g.resetProposals()
	d.Avoid, d.CannotStart = s.Worker, ""
	g.noteDetection(v)
	switch v.Failure { //nolint:exhaustive // every other one is the handler's
	case contract.FailureAtCapacity, contract.FailureNotTaken:
		g.detectLater(s, now)
		return
	case contract.FailureDraining:
		g.engine.Cool(now, s.Worker, s.Instance, run.DrainCoolDown)
		return
	case contract.FailureCannotStart, contract.FailureNotInstalled:
		g.detectionNotStarted(s, v, now)
		return
	case contract.FailureUnsupported:
		g.engine.Exclude(now, s.Worker, s.Instance, g.cfg.Handler)
		return
	case contract.FailureWorkerLost:
		if d.Losses++; d.Losses < maxDetectAttempts {
			return
		}
	}
	d.Failing = explain.TextDetectionFailed(s.Worker, clip(v.Message))
	if retryAt := g.retryAt(d.Retries, v.Failure, now); !retryAt.IsZero() {
		d.Retries, d.RetryAt = d.Retries+1, retryAt
		return
	}
	g.failDetection(d.Failing + explain.TextAttempts(d.Retries+1))
}

// retryAt is when a detection is tried again whose handler has failed; zero: it is not. A retry
// that would begin after the end of the group is none.
func (g *search) retryAt(retries int, failure run.Failure, now time.Time) time.Time {
	at := now.Add(min(detectRetryPause<<min(retries, 10), detectRetryPauseMost))
	final := failure == contract.FailurePermanent || failure == contract.FailureCanceled || failure == contract.FailureWorkerLost
	if final || retries >= g.cfg.Policy.DetectionRetries || at.Sub(now) >= g.timeLeft(now) {
		return time.Time{}
	}
	return at
}

// detectionNotStarted leaves a worker alone that could not start the detection's program.
func (g *search) detectionNotStarted(s *session, v DetectionEnded, now time.Time) {
	g.engine.CannotStart(now, s.Worker, s.Instance, run.Ending{Failure: v.Failure, Message: v.Message})
	if v.Failure == contract.FailureCannotStart {
		g.detect.CannotStart = clip(v.Message)
		g.detectLater(s, now)
		return
	}
	if g.detect.Lacks == nil {
		g.detect.Lacks = map[string]string{}
	}
	g.detect.Lacks[process(s.Worker, s.Instance)] = clip(v.Message)
}

func (g *search) failDetection(why string) {
	g.resetProposals()
	g.detect.Failed, g.detect.FailedCode = why, ""
	g.phase = PhaseRunning
}

// loseDetections ends those whose worker the registry has given up.
func (g *search) loseDetections(now time.Time) {
	for _, s := range slices.Clone(g.detect.Open) {
		if why := g.engine.WhyGone(s.Worker, s.Instance); why != "" {
			g.do(CancelDetection{Attempt: s.Attempt})
			g.detectionEnded(DetectionEnded{Attempt: s.Attempt, Failure: contract.FailureWorkerLost, Message: why}, now)
		}
	}
}
