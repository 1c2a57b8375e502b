package notify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Overlap is the time by which two looks overlap: the server's list of runs may be that late.
const Overlap = time.Minute

// MaxReported bounds the runs reported per look: the watcher's result must fit into a message.
const MaxReported = 100

// A DAG may be run only once.
const maxFailing = 1000

// Ended is a run that has ended, of a job type or of a DAG.
type Ended struct {
	// JobType is empty for a run of a DAG, DAG for a run of a job type.
	JobType, DAG string
	Run, RunID   string
	// Outcome is empty for a run that was terminated.
	Outcome    contract.Outcome
	Start, End time.Time
	// Missed lists the workers that the run did not reach, if nothing else failed.
	Missed []string
}

// Approval is a task that waits for an approval.
type Approval struct {
	// Job type of the group whose job is the DAG, if any.
	JobType, DAG     string
	Run, RunID, Task string
	Prompt           string
	Since            time.Time
}

// Worker is a lost or suspect worker.
type Worker struct {
	ID, Instance string
	// Seen is the last sign of life, or the start of the trouble.
	Seen time.Time
	// Trouble is the reason to suspect the worker; empty if it is lost.
	Trouble string
}

// Facts are the observations of one look.
type Facts struct {
	Now   time.Time
	Rules Rules
	// Runs that ended since [State.From], up to a nonzero Until.
	Ended []Ended
	Until time.Time
	// Approvals and Lost are complete; nil if they were not read.
	Approvals *Approvals
	Lost      *[]Worker
}

// Approvals are the pending approvals, and the runs that did not respond.
type Approvals struct {
	Wanted     []Approval
	Unanswered []string
}

// State is the result of the previous looks.
type State struct {
	// Newest is the latest end of a run seen.
	Newest time.Time `json:"newest,omitzero"`
	// Seen holds the ends of judged runs that may be listed again, by run id.
	Seen map[string]time.Time `json:"seen,omitempty"`
	// Time since which a job type or DAG fails, and the last success of a job type.
	Failing map[string]time.Time `json:"failing,omitempty"`
	Success map[string]time.Time `json:"success,omitempty"`
	// Missed holds the reported absent workers by job type, until a run completes.
	Missed map[string][]string `json:"missed,omitempty"`
	// Overdue holds the last success before a rule reported a job type overdue.
	Overdue map[string]time.Time `json:"overdue,omitempty"`
	// Approvals and Lost hold the ids of reported notices.
	Approvals []string `json:"approvals,omitempty"`
	Lost      []string `json:"lost,omitempty"`
}

// Begin initializes a new state. Earlier ends of runs are not reported.
func (s *State) Begin(now time.Time) {
	if s.Newest.IsZero() {
		s.Newest = now
	}
	if s.Missed == nil {
		s.Missed = map[string][]string{}
	}
	for _, m := range []*map[string]time.Time{&s.Seen, &s.Failing, &s.Success, &s.Overdue} {
		if *m == nil {
			*m = map[string]time.Time{}
		}
	}
}

// Skip marks runs that ended up to until as done, except those of the last [Overlap].
func (s *State) Skip(until time.Time) {
	if until.After(s.Newest) {
		s.Newest = until
	}
}

// From returns the earliest end of the runs to list.
func (s *State) From() time.Time { return s.Newest.Add(-Overlap) }

// Watch applies the facts of one look and returns the new notices. The caller adds titles, and drops a warning of a
// run without one.
func (s *State) Watch(f Facts) []contract.Notice {
	s.Begin(f.Now)
	notices := s.watchRuns(f)
	notices = append(notices, s.watchOverdue(f)...)
	if f.Approvals != nil {
		notices = append(notices, s.watchApprovals(f)...)
	}
	if f.Lost != nil {
		notices = append(notices, s.watchWorkers(f)...)
	}
	s.forget(f.Rules)
	return notices
}

func (s *State) forget(rules Rules) {
	applied := map[string]bool{}
	for _, known := range rules.Types {
		applied[known.Name] = true
	}
	maps.DeleteFunc(s.Success, func(name string, _ time.Time) bool { return !applied[name] })
	maps.DeleteFunc(s.Missed, func(name string, _ []string) bool { return !applied[name] })
	maps.DeleteFunc(s.Overdue, func(key string, _ time.Time) bool {
		name, _, _ := strings.Cut(key, "@")
		return !applied[name]
	})
	for len(s.Failing) > len(applied)+maxFailing {
		delete(s.Failing, slices.MinFunc(slices.Sorted(maps.Keys(s.Failing)), func(a, b string) int { return s.Failing[a].Compare(s.Failing[b]) }))
	}
}

func (s *State) watchRuns(f Facts) []contract.Notice {
	var notices []contract.Notice
	ended := slices.Clone(f.Ended)
	slices.SortStableFunc(ended, func(a, b Ended) int { return a.End.Compare(b.End) })
	for _, run := range ended {
		if _, seen := s.Seen[run.RunID]; seen {
			continue
		}
		if len(notices) >= MaxReported {
			f.Until = time.Time{}
			break
		}
		s.Skip(run.End)
		s.Seen[run.RunID] = run.End
		rules := f.Rules.of(run.JobType)
		if event, since := s.judge(run, func(e contract.NotifyEvent) bool { return len(receivers(rules, e)) > 0 }); event != "" {
			if to := receivers(rules, event); len(to) > 0 {
				notices = append(notices, noticeOf(event, run, since, to))
			}
		}
		if to := receivers(rules, contract.NotifyWarning); len(to) > 0 && run.Outcome == contract.OutcomeCompleted {
			notices = append(notices, noticeOf(contract.NotifyWarning, run, time.Time{}, to))
		}
	}
	s.Skip(f.Until)
	maps.DeleteFunc(s.Seen, func(_ string, end time.Time) bool { return end.Before(s.From()) })
	return notices
}

// A partial run counts as a failure only if a rule reports it; otherwise its recovery would be the first notice.
func (s *State) judge(run Ended, reports func(contract.NotifyEvent) bool) (event contract.NotifyEvent, since time.Time) {
	name := nameOf(run.JobType, run.DAG)
	switch run.Outcome {
	case contract.OutcomeFailed, contract.OutcomeTimeout, "":
		event = contract.NotifyFailed
	case contract.OutcomePartial:
		event = contract.NotifyPartial
	case contract.OutcomeCompleted:
		s.Success[name] = run.End
		delete(s.Missed, name)
		since, failing := s.Failing[name]
		if !failing {
			return "", since
		}
		delete(s.Failing, name)
		return contract.NotifyRecovered, since
	case contract.OutcomeCanceled, contract.OutcomeSkipped:
		return "", since
	}
	if _, failing := s.Failing[name]; !failing && (event != contract.NotifyPartial || reports(event)) {
		s.Failing[name] = run.End
	}
	if len(run.Missed) > 0 && reports(event) && !s.newlyMissed(name, run.Missed) {
		return "", since
	}
	return event, since
}

// After a run that reached the worker, its absence is reported again.
func (s *State) newlyMissed(name string, missed []string) bool {
	reported := s.Missed[name]
	s.Missed[name] = missed
	return slices.ContainsFunc(missed, func(worker string) bool { return !slices.Contains(reported, worker) })
}

// Seems reports whether an absent worker alone may have caused the outcome of a run that was not judged yet.
func (s *State) Seems(run Ended) bool {
	_, seen := s.Seen[run.RunID]
	return !seen && run.JobType != "" && (run.Outcome == contract.OutcomePartial || run.Outcome == contract.OutcomeFailed)
}

func nameOf(jobType, dag string) string { return cmp.Or(jobType, "dag/"+dag) }

func noticeOf(event contract.NotifyEvent, run Ended, since time.Time, to []string) contract.Notice {
	return contract.Notice{To: to, Notification: contract.Notification{
		Version: 1, ID: string(event) + "/" + run.Run + "/" + run.RunID, Event: event, At: run.End, JobType: run.JobType, DAG: run.DAG,
		Run: run.Run, RunID: run.RunID, Outcome: run.Outcome, StartedAt: run.Start, EndedAt: run.End, Since: since,
	}}
}

// A job type is overdue once per rule and last success. Without a success, the first look that saw it counts.
func (s *State) watchOverdue(f Facts) []contract.Notice {
	var notices []contract.Notice
	for _, known := range f.Rules.Types {
		limits := f.Rules.limits(known)
		if known.Disabled || len(limits) == 0 {
			continue
		}
		last, seen := s.Success[known.Name]
		if !seen {
			s.Success[known.Name] = f.Now
			continue
		}
		for _, rule := range limits {
			key := known.Name + "@" + rule.NotSucceededFor.String()
			at := last.Add(rule.NotSucceededFor.Std())
			if f.Now.Before(at) || s.Overdue[key].Equal(last) {
				continue
			}
			s.Overdue[key] = last
			if _, failing := s.Failing[known.Name]; !failing {
				s.Failing[known.Name] = last
			}
			notices = append(notices, contract.Notice{To: appendNew(nil, rule.To...), Notification: contract.Notification{
				Version: 1, ID: string(contract.NotifyNotSucceeded) + "/" + key + "/" + last.UTC().Format(time.RFC3339),
				Event: contract.NotifyNotSucceeded, At: at, JobType: known.Name, Since: last,
			}})
		}
	}
	return notices
}

// While a run does not respond, its reported approvals stay reported.
func (s *State) watchApprovals(f Facts) []contract.Notice {
	var notices []contract.Notice
	var reported []string
	for _, id := range s.Approvals {
		if slices.ContainsFunc(f.Approvals.Unanswered, func(run string) bool { return strings.HasPrefix(id, approvalID(run)) }) {
			reported = append(reported, id)
		}
	}
	for _, approval := range f.Approvals.Wanted {
		id := approvalID(approval.Run) + approval.Task + "/" + approval.Since.UTC().Format(time.RFC3339)
		reported = append(reported, id)
		if slices.Contains(s.Approvals, id) {
			continue
		}
		if to := receivers(f.Rules.of(approval.JobType), contract.NotifyApproval); len(to) > 0 {
			notices = append(notices, contract.Notice{To: to, Notification: contract.Notification{
				Version: 1, ID: id, Event: contract.NotifyApproval, At: f.Now, JobType: approval.JobType, DAG: approval.DAG,
				Run: approval.Run, RunID: approval.RunID, Task: approval.Task, Detail: approval.Prompt, Since: approval.Since,
			}})
		}
	}
	s.Approvals = reported
	return notices
}

// The prefix has no run id: a run that waits long continues as new.
func approvalID(run string) string { return string(contract.NotifyApproval) + "/" + run + "/" }

func (s *State) watchWorkers(f Facts) []contract.Notice {
	var notices []contract.Notice
	var reported []string
	for _, worker := range *f.Lost {
		event, id := contract.NotifyWorkerLost, worker.ID+"/"+worker.Instance
		if worker.Trouble != "" {
			event, id = contract.NotifyWorkerSuspect, id+"/"+worker.Seen.UTC().Format(time.RFC3339)
		}
		to := receivers(f.Rules.Global, event)
		id = string(event) + "/" + id
		reported = append(reported, id)
		if slices.Contains(s.Lost, id) || len(to) == 0 {
			continue
		}
		notices = append(notices, contract.Notice{To: to, Notification: contract.Notification{
			Version: 1, ID: id, Event: event, At: f.Now, Worker: worker.ID, Since: worker.Seen, Detail: worker.Trouble,
		}})
	}
	s.Lost = reported
	return notices
}
