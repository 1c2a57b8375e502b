package explain

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"github.com/roundsman/roundsman/contract"
)

// Thing is a job type, run, worker or receiver with its facts.
type Thing struct {
	// Kind is that of an explanation. JobType and DAG are the scope; both are empty for workers
	// and receivers.
	Kind, Name, JobType, DAG string
	Facts                    Facts
}

// Need is a state that lasts until a person acts.
type Need struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	JobType string `json:"job_type,omitempty"`
	DAG     string `json:"dag,omitempty"`
	// Run is the run named by Name; absent for other things.
	Run *Holder `json:"run,omitempty"`
	Reason
}

// NeedsPerson lists the states that wait for a person: the most urgent code first, then the nearest
// deadline, then the longest wait.
func NeedsPerson(things []Thing) []Need {
	needs, rank := []Need{}, map[contract.Code]int{}
	for i, code := range forPerson() {
		rank[code] = i
	}
	for _, thing := range things {
		for _, reason := range Why(thing.Facts) {
			if _, lasts := rank[reason.Code]; lasts && ofWorker(reason.Code) == (thing.Facts.Worker != nil) {
				needs = append(needs, Need{thing.Kind, thing.Name, thing.JobType, thing.DAG, RunOf(thing.Name), reason})
			}
		}
	}
	needs = once(slices.Values(needs), len(needs))
	slices.SortStableFunc(needs, func(a, b Need) int {
		switch {
		case a.Code != b.Code:
			return cmp.Compare(rank[a.Code], rank[b.Code])
		case a.Until.IsZero() != b.Until.IsZero():
			return cmp.Compare(b.Until.Unix(), a.Until.Unix())
		}
		return cmp.Or(a.Until.Compare(b.Until), a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	return needs
}

// once lists a state that a job type and its runs have with the job type alone, with the times of the run that has
// waited longest. It reads the needs twice: a namespace may have 10,000 job types.
func once(needs iter.Seq[Need], most int) []Need {
	type lack struct{ jobType, object string }
	ofTypes, longest := map[lack]bool{}, map[lack]Need{}
	for n := range needs {
		key := lack{n.JobType, n.Object}
		switch known, found := longest[key]; {
		case n.Code != contract.CodeNoWorker:
		case n.Name == n.JobType:
			ofTypes[key] = true
		case !found || earlier(n, known):
			longest[key] = n
		}
	}
	all := make([]Need, 0, most)
	for n := range needs {
		key := lack{n.JobType, n.Object}
		switch run, found := longest[key]; {
		case n.Code != contract.CodeNoWorker:
		case n.Name != n.JobType && ofTypes[key]:
			continue
		case n.Name == n.JobType && found && earlier(run, n):
			n.Since, n.Until = run.Since, run.Until
		}
		all = append(all, n)
	}
	return all
}

// earlier reports whether a began before b, as far as the times are known.
func earlier(a, b Need) bool {
	return !a.Since.IsZero() && (b.Since.IsZero() || a.Since.Before(b.Since))
}

// ofWorker reports whether a code is listed with the worker, not with the waiting run.
func ofWorker(code contract.Code) bool {
	return slices.Contains([]contract.Code{contract.CodeUnreachable, contract.CodeCordoned, contract.CodeCannotStart, contract.CodeNotInstalled, contract.CodeDiskFull}, code)
}

// forPerson has the codes that stay until a person acts, the most urgent first: open questions before faults, and last
// what a person has stopped. A disabled job type is disabled on purpose.
func forPerson() []contract.Code {
	return []contract.Code{
		contract.CodeControlPlaneDown, contract.CodeWorkflowStuck, contract.CodeApproval, contract.CodeParked, contract.CodeNoWorker, contract.CodeRetryBudget, contract.CodeUnreachable, contract.CodeCannotStart,
		contract.CodeNotInstalled, contract.CodeDiskFull, contract.CodeNoReceiver, contract.CodeReceiverFailing, contract.CodePaused, contract.CodeCordoned,
	}
}

// NeedsStanding sums up whether a person is needed.
type NeedsStanding struct {
	State string `json:"state"`
	Role  Role   `json:"role" enum:"person,unknown,done"`
}

// RoleUnknown is the role of a state that could not be read.
const RoleUnknown Role = "unknown"

// NeedsStandingOf returns the standing of a number of needs. If facts are unknown, a total of 0
// is no proof that no person is needed.
func NeedsStandingOf(total int, unknown bool) NeedsStanding {
	switch {
	case total == 1:
		return NeedsStanding{"1 needs you", RolePerson}
	case total > 1:
		return NeedsStanding{strconv.Itoa(total) + " need you", RolePerson}
	case unknown:
		return NeedsStanding{"Not everything is known", RoleUnknown}
	}
	return NeedsStanding{"No one is needed", RoleDone}
}
