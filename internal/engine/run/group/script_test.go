package group

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// script plays one group by hand.
type script struct {
	t   testing.TB
	g   *Group
	now time.Time
	// workers are those that Prepare finds.
	workers []contract.WorkerView
	// all commands so far; last those of the last step.
	all, last []source.Command
}

// open makes a group that has not had its first event.
func open(t testing.TB, cfg Config, workers ...contract.WorkerView) *script {
	t.Helper()
	cfg.JobType, cfg.Handler, cfg.Policy = "jt", "h", cfg.Policy.WithDefaults()
	return &script{t: t, now: epoch, g: New(cfg, epoch), workers: workers}
}

// play makes a group that detects, and ends the detection if something is found.
func play(t *testing.T, policy jobtype.Policy, workers []contract.WorkerView, found ...jobtype.Proposal) *script {
	t.Helper()
	return playWith(t, Config{Policy: policy}, workers, found...)
}

func playWith(t *testing.T, cfg Config, workers []contract.WorkerView, found ...jobtype.Proposal) *script {
	t.Helper()
	s := open(t, cfg, workers...)
	s.begin()
	if len(found) > 0 {
		s.detected(found...)
	}
	return s
}

// begin gives the first event, and answers Prepare.
func (s *script) begin() {
	s.step(run.Tick{})
	s.prepared()
}

// prepared answers a Prepare of the last step.
func (s *script) prepared() {
	for _, c := range s.last {
		if _, ok := c.(Prepare); ok {
			s.step(Prepared{Workers: s.workers})
			return
		}
	}
}

func (s *script) step(event source.Event) []source.Command {
	s.last = append([]source.Command(nil), s.g.Next(s.now, event)...)
	s.all = append(s.all, s.last...)
	return s.last
}

func (s *script) ran(event run.Event) []source.Command { return s.step(event) }

// wait lets time pass as the workflow does.
func (s *script) wait(d time.Duration) []source.Command {
	var commands []source.Command
	until := s.now.Add(d)
	for range 10_000 {
		wake := s.g.NextWake()
		if s.g.Phase() == PhaseEnded || wake.IsZero() || wake.After(until) {
			break
		}
		s.now = wake
		commands = append(commands, s.step(run.Tick{})...)
	}
	s.now = until
	return append(commands, s.step(run.Tick{})...)
}

func (s *script) detected(found ...jobtype.Proposal) {
	s.t.Helper()
	attempt := s.g.detect.Attempt
	page := Page{Attempt: attempt, Proposals: found}
	require.NoError(s.t, s.g.CheckPage(page))
	s.g.TakePage(s.now, page)
	s.step(DetectionEnded{Attempt: attempt, Pages: 1, Emitted: len(found)})
}

// attempt is the last one of a job.
func (s *script) attempt(job int) int {
	s.t.Helper()
	view, ok := s.g.engine.View(job)
	require.True(s.t, ok, "job %d has ended", job)
	return view.Attempt
}

func (s *script) end(job int, failure run.Failure) []source.Command {
	s.t.Helper()
	return s.endWith(job, run.Ending{Failure: failure, Message: "because " + string(failure)})
}

func (s *script) endWith(job int, end run.Ending) []source.Command {
	s.t.Helper()
	return s.ran(run.Ended{Item: job, Attempt: s.attempt(job), Ending: end})
}

// roll takes the group through its state.
func (s *script) roll() {
	s.t.Helper()
	data, err := s.g.Snapshot()
	require.NoError(s.t, err)
	s.g, err = Restore(data, s.now)
	require.NoError(s.t, err)
	s.step(run.Tick{})
}

// started lists the jobs that these commands start, with their workers.
func started(commands []source.Command) []string {
	var list []string
	for _, c := range commands {
		if start, ok := c.(StartJob); ok {
			list = append(list, fmt.Sprintf("%d@%s", start.Item, start.Worker))
		}
	}
	return list
}

// decided lists the engine's decisions of a kind.
func decided(commands []source.Command, kind run.Kind) []run.Decision {
	var list []run.Decision
	for _, c := range commands {
		switch d := c.(type) {
		case run.Decision:
			if d.Kind == kind {
				list = append(list, d)
			}
		case source.Acquire:
			if d.Kind == kind {
				list = append(list, d.Decision)
			}
		}
	}
	return list
}

// find returns the first command of a type.
func find[C source.Command](commands []source.Command) (C, bool) {
	for _, c := range commands {
		if found, ok := c.(C); ok {
			return found, true
		}
	}
	var none C
	return none, false
}

// outcome is how the group ended. Its code is the one that its reason begins with.
func (s *script) outcome() (Outcome, string) {
	s.t.Helper()
	require.Equal(s.t, PhaseEnded, s.g.Phase())
	result := s.g.Result(s.now)
	require.Equal(s.t, leadingCode.FindString(result.Reason), string(result.Code))
	return result.Outcome, result.Reason
}

var leadingCode = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*\b`)

func (s *script) jobs() []contract.JobView {
	s.t.Helper()
	result, err := s.g.Jobs(contract.JobsQueryInput{}, s.now)
	require.NoError(s.t, err)
	return result.Jobs
}

func node(id string, slots int) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i1", State: contract.WorkerOnline, Fresh: true, MaxDetect: 1, MaxExecute: slots, Shared: []string{"jt"},
		Capabilities: []contract.Capability{{Handler: "h", Detect: true, Execute: true}},
	}
}

func nodes(list ...contract.WorkerView) []contract.WorkerView { return list }

func seconds(n int) jobtype.Duration { return jobtype.Duration(time.Duration(n) * time.Second) }

func wide(p jobtype.Policy) jobtype.Policy {
	p.GlobalExecutionConcurrency, p.PerWorkerExecutionConcurrency = 10, 10
	return p
}

// Names of the tests for declarations of other packages.
type Worker = contract.WorkerView

const (
	FailureNone        = contract.FailureNone
	FailureFailed      = contract.FailureFailed
	FailurePermanent   = contract.FailurePermanent
	FailureStale       = contract.FailureStale
	FailureTimeout     = contract.FailureTimeout
	FailureCanceled    = contract.FailureCanceled
	FailureAtCapacity  = contract.FailureAtCapacity
	FailureDraining    = contract.FailureDraining
	FailureUnsupported = contract.FailureUnsupported
	FailureWorkerLost  = contract.FailureWorkerLost
	FailureNotTaken    = contract.FailureNotTaken

	OutcomeCompleted = contract.OutcomeCompleted
	OutcomePartial   = contract.OutcomePartial
	OutcomeFailed    = contract.OutcomeFailed
	OutcomeTimeout   = contract.OutcomeTimeout
	OutcomeCanceled  = contract.OutcomeCanceled
	OutcomeSkipped   = contract.OutcomeSkipped

	WaitNoWorker    = string(contract.CodeNoWorker)
	WaitWindowFit   = string(contract.CodeWindowFit)
	WaitGlobalLimit = string(contract.CodeGlobalLimit)
	WaitBackoff     = string(contract.CodeBackoff)
	WaitSlots       = string(contract.CodeSlots)
	WaitWindow      = string(contract.CodeWindowClosed)
)

// job is one job as operators see it.
func (s *script) job(n int) contract.JobView {
	s.t.Helper()
	result, err := s.g.Jobs(contract.JobsQueryInput{JobID: contract.JobID(n)}, s.now)
	require.NoError(s.t, err)
	require.Len(s.t, result.Jobs, 1)
	return result.Jobs[0]
}

func offline(id string) Worker {
	w := node(id, 1)
	w.State = contract.WorkerOffline
	return w
}
