package reboot

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Code is the code of a verdict.
type Code string

// The verdicts, the worst first.
const (
	// NotKnown means that no fresh report lists the running jobs, so jobs may run unseen.
	NotKnown Code = "NOT_KNOWN"
	// WorkWaits means that no other worker can serve some job types now.
	WorkWaits Code = "WORK_WAITS"
	// DrainFirst means that jobs run on the node; a drain lets them end.
	DrainFirst Code = "DRAIN_FIRST"
	// Draining means that the worker takes no new work, so the node is free after its jobs.
	Draining Code = "DRAINING"
	// Free means that nothing runs on the node, and other workers can serve every job type.
	Free Code = "FREE"
)

// NodeAttempt is an attempt on the worker.
type NodeAttempt struct {
	Run string `json:"run"`
	Job string `json:"job"`
	// StartedAt is zero if unknown.
	StartedAt time.Time `json:"started_at,omitzero"`
	// Lost: the run has abandoned the worker, whose process may still execute the attempt.
	Lost bool `json:"lost,omitempty"`
}

// Type is an applied job type.
type Type struct {
	Name, Handler string
	Labels        map[string]string
	// Idle means paused or disabled, so no run waits.
	Idle bool
	Next time.Time
}

// Facts are the input of the verdict.
type Facts struct {
	Worker contract.WorkerDetail
	// Reported means that a fresh report of the registered process lists Running jobs.
	Reported bool
	Running  int
	// Attempts are those in the report and in the open runs.
	Attempts []NodeAttempt
	// Unsearched means that not every open run was searched for attempts.
	Unsearched bool
	Fleet      []contract.WorkerDetail
	Types      []Type
}

// Alone is a job type that only this worker can serve now.
type Alone struct {
	Name string    `json:"name"`
	Next time.Time `json:"next,omitzero"`
}

// Verdict is the answer to "may I reboot this node?".
type Verdict struct {
	Code Code `json:"code"`
	// Number of known running jobs, and their list after the lost ones.
	Running  int           `json:"running"`
	Attempts []NodeAttempt `json:"attempts"`
	Alone    []Alone       `json:"alone"`
	// Whether there is a fresh report, and whether some open runs were not searched.
	Reported   bool `json:"reported"`
	Unsearched bool `json:"unsearched,omitempty"`
	// Draining means that the worker takes no new work, with any code.
	Draining bool `json:"-"`
}

// Decide returns the verdict on the facts.
func Decide(f Facts) Verdict {
	v := Verdict{Attempts: slices.Clone(f.Attempts), Alone: f.alone(), Reported: f.Reported, Unsearched: f.Unsearched, Draining: f.Worker.Mode != ""}
	lost := lists.Count(f.Attempts, func(attempt NodeAttempt) bool { return attempt.Lost })
	v.Running = max(f.Running, len(f.Attempts)-lost)
	slices.SortStableFunc(v.Attempts, func(a, b NodeAttempt) int {
		switch {
		case a.Lost && !b.Lost:
			return -1
		case b.Lost && !a.Lost:
			return 1
		}
		return a.StartedAt.Compare(b.StartedAt)
	})
	switch {
	case !f.Reported:
		v.Code = NotKnown
	case len(v.Alone) > 0:
		v.Code = WorkWaits
	case v.Running+lost > 0 && f.Worker.Mode != "":
		v.Code = Draining
	case v.Running+lost > 0:
		v.Code = DrainFirst
	case f.Unsearched && f.Worker.Registration.Remote:
		v.Code = NotKnown // A remote worker's heartbeat counts jobs, and no count includes a lost attempt.
	default:
		v.Code = Free
	}
	return v
}

func (f Facts) alone() []Alone {
	others := slices.DeleteFunc(slices.Clone(f.Fleet), func(w contract.WorkerDetail) bool {
		return w.Registration.ID == f.Worker.Registration.ID
	})
	alone := []Alone{}
	for _, t := range f.Types {
		if t.Handler == "" || t.Idle {
			continue // A DAG needs no worker of its own.
		}
		wanted := explain.Wanted{JobType: t.Name, Handler: t.Handler, Labels: t.Labels}
		if wanted.CapableOf(f.Worker) && !wanted.Served(others) {
			alone = append(alone, Alone{t.Name, t.Next})
		}
	}
	slices.SortFunc(alone, func(a, b Alone) int { return strings.Compare(a.Name, b.Name) })
	return alone
}
