package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Facts is what is known. Whatever could not be found out is left empty, with
// Down saying why.
type Facts struct {
	Now time.Time
	// Type is set for a job type; Runs are its open runs then, MoreRuns counts
	// those that were not looked at.
	Type     *TypeFacts
	Runs     []RunFacts
	MoreRuns int
	// Run is the run in question, or that of the job in question.
	Run *RunFacts
	Job *contract.JobView
	// Worker is the worker in question. Workers is the registry, which is asked
	// where somebody waits for a worker.
	Worker  *WorkerFacts
	Workers []contract.WorkerDetail
	// Asked are workers, by id, that somebody doubts and whose processes were asked
	// for that reason.
	Asked map[string]WorkerFacts
	// Taker is the worker that the job or task was sent to and that has not taken
	// it yet, since SentAt.
	Taker  *WorkerFacts
	SentAt time.Time
	// DAG is the run of a DAG in question, or that of the task in question.
	DAG *DAGFacts
	// Inner are explanations of what the thing itself waits for: the runs of the
	// sub-DAGs of a run or a job.
	Inner []Inner
	// Admission is nil if it was not asked. NoAdmission: it was, and has ended or does
	// not exist yet.
	Admission   *contract.AdmissionView
	NoAdmission bool
	// Holds is what is held back of the job type.
	Holds []contract.AdmissionHold
	// Down says what the control plane did not answer, DownSince when it last
	// showed a sign of life, if the server still knows.
	Down      string
	DownSince time.Time
	// Frozen are workflows among those that were asked that somebody paused in
	// Temporal itself: they answer nothing.
	Frozen []FrozenFacts
	// Stuck are those that the control plane's code cannot go on with.
	Stuck []StuckFacts
}

// TypeFacts is what the Schedule says.
type TypeFacts struct {
	Name, Handler    string
	Paused, Disabled bool
	PauseNote        string
	// PausedBy and PausedAt are empty if nobody knows.
	PausedBy string
	PausedAt time.Time
	// Next is the coming tick, LastTick the one before; zero: none.
	Next, LastTick time.Time
	// ChangedAt is when the Schedule was last changed by an apply.
	ChangedAt time.Time
	// WindowClosed says why its maintenance window is closed, empty if it is not;
	// WindowSince and WindowOpens when that began and ends, as far as it is known.
	WindowClosed             string
	WindowSince, WindowOpens time.Time
}

// RunFacts is what the server and the group say.
type RunFacts struct {
	ID        string
	JobType   string
	Open      bool
	Outcome   string
	StartedAt time.Time
	// Status is nil if the group did not answer.
	Status *contract.GroupStatus
	// Pending are pending jobs, the most urgent ones.
	Pending []contract.JobView
}

// Inner is the explanation of something inside the thing in question.
type Inner struct {
	Name    string
	Reasons []Reason
}

// Why gives the reasons, ordered. It is empty for what runs or has ended.
func Why(f Facts) []Reason {
	var reasons []Reason
	if f.Down != "" {
		reasons = append(reasons, reason(ControlPlaneDown, "", f.DownSince, time.Time{}, f.Down))
	}
	for _, frozen := range f.Frozen {
		reasons = append(reasons, frozen.reason())
	}
	for _, stuck := range f.Stuck {
		reasons = append(reasons, stuck.reason())
	}
	switch {
	case f.Worker != nil:
		reasons = append(reasons, f.ofWorker()...)
	case f.DAG != nil:
		reasons = append(reasons, f.ofDAG()...)
	case f.Job != nil:
		reasons = append(reasons, f.ofJob(*f.Run, *f.Job)...)
	case f.Run != nil && f.Run.Open:
		reasons = append(reasons, f.ofRun(*f.Run)...)
	case f.Type != nil:
		reasons = append(reasons, f.ofType()...)
	}
	if f.Taker != nil {
		reasons = append(reasons, f.untaken())
	}
	reasons = append(reasons, f.heldBack()...)
	for _, inner := range f.Inner {
		reasons = append(reasons, of(inner.Name, inner.Reasons)...)
	}
	return ordered(reasons)
}

// State is one word for what it is doing.
func State(f Facts) string {
	switch {
	case f.Worker != nil:
		return string(f.Worker.State)
	case f.Taker != nil:
		return "assigned"
	case f.DAG != nil && f.mute(f.DAG.ID) != "":
		return f.mute(f.DAG.ID)
	case f.Run != nil && f.mute(f.Run.ID) != "":
		return f.mute(f.Run.ID)
	case f.DAG != nil:
		return f.DAG.state()
	case f.Job != nil:
		return f.Job.State
	case f.Run != nil:
		return f.Run.state()
	case f.Type != nil && len(f.Runs) > 0:
		return f.stateOfType()
	}
	return "idle"
}

func (r RunFacts) state() string {
	switch {
	case !r.Open:
		return cmp.Or(r.Outcome, "ended")
	case r.Status == nil:
		return "open"
	case r.Status.Running > 0:
		return "running"
	}
	return r.Status.Phase
}

// stateOfType is running as soon as one of the runs is.
func (f Facts) stateOfType() string {
	for _, run := range f.Runs {
		if run.state() == "running" {
			return "running"
		}
	}
	return f.Runs[0].state()
}

func reason(code Code, object string, since, until time.Time, detail string) Reason {
	return Reason{Code: code, Object: object, Since: since, Until: until, Detail: detail, Remedy: remedy(code, object)}
}

// of notes of what something else reasons are, unless that is noted already.
func of(what string, reasons []Reason) []Reason {
	for i := range reasons {
		if reasons[i].Of == "" {
			reasons[i].Of = what
		}
	}
	return reasons
}

// ordered sorts by code. What is said twice is said once, with how often.
func ordered(reasons []Reason) []Reason {
	rank := map[Code]int{}
	for i, code := range Codes() {
		rank[code] = i
	}
	type thing struct {
		code   Code
		object string
	}
	known, also := map[thing]int{}, map[int]int{}
	kept := reasons[:0]
	for _, one := range reasons {
		key := thing{one.Code, one.Object}
		at, told := known[key]
		switch {
		case !told:
			known[key] = len(kept)
			kept = append(kept, one)
		case kept[at].Of != one.Of:
			also[at]++
		}
	}
	for at, n := range also { // Each goes to a place of its own.
		kept[at].Detail += fmt.Sprintf(" (and %d more wait for it)", n)
	}
	slices.SortStableFunc(kept, func(a, b Reason) int { return cmp.Compare(rank[a.Code], rank[b.Code]) })
	return kept
}

func (f Facts) ofType() []Reason {
	var reasons []Reason
	for _, run := range f.Runs {
		reasons = append(reasons, of(run.ID, f.ofRun(run))...)
	}
	if f.MoreRuns > 0 && len(reasons) > 0 {
		reasons[len(reasons)-1].Detail += fmt.Sprintf("; %d more runs were not looked at", f.MoreRuns)
	}
	switch {
	case f.Type.Disabled:
		reasons = append(reasons, reason(Disabled, f.Type.Name, f.Type.ChangedAt, time.Time{}, "enabled is false in the configuration"))
	case f.Type.Paused:
		reasons = append(reasons, reason(Paused, f.Type.Name, f.Type.PausedAt, time.Time{}, f.Type.pauseText()))
	case len(f.Runs) == 0 && !f.Type.Next.IsZero():
		reasons = append(reasons, reason(NotDueUntil, f.Type.Name, f.Type.LastTick, f.Type.Next, "it is not due"))
	}
	if len(f.Runs) == 0 && f.Type.WindowClosed != "" {
		reasons = append(reasons, f.Type.windowClosed())
	}
	if len(f.Runs) == 0 && f.Down == "" {
		reasons = append(reasons, f.missingWorkers()...)
	}
	return reasons
}

// windowClosed: what is due ends at once, or waits for the opening.
func (t TypeFacts) windowClosed() Reason {
	since := t.WindowSince
	if since.IsZero() {
		since = t.ChangedAt
	}
	detail := "its maintenance window is closed: " + t.WindowClosed
	if t.WindowOpens.IsZero() {
		detail += "; none opens within 400 days"
	}
	return reason(WindowClosed, t.Name, since, t.WindowOpens, detail)
}

// pauseText says who paused the schedule, and why.
func (t TypeFacts) pauseText() string {
	text := "its schedule is paused"
	if t.PausedBy != "" {
		text += " by " + t.PausedBy
	}
	if t.PauseNote != "" {
		text += ": " + t.PauseNote
	}
	return text
}

func (f Facts) ofRun(run RunFacts) []Reason {
	status := run.Status
	if status == nil {
		if f.Down != "" || f.mute(run.ID) != "" {
			return nil
		}
		return []Reason{reason(Starting, run.ID, run.StartedAt, time.Time{}, "the run has just been started")}
	}
	var reasons []Reason
	switch {
	case status.Wait != nil:
		reasons = append(reasons, f.expand(*status.Wait, run.ID, run.JobType)...)
	case status.Phase == "preparing":
		reasons = append(reasons, reason(Starting, run.ID, run.StartedAt, time.Time{}, "it looks up workers and its past runs"))
	}
	if status.Running == 0 {
		for _, job := range run.Pending {
			reasons = append(reasons, of(run.ID+"/"+job.JobID, f.ofJob(run, job))...)
		}
	}
	for _, deduped := range status.Deduped {
		reasons = append(reasons, reason(Deduped, deduped.DedupeKey, status.StartedAt, time.Time{}, "the same work is active in "+deduped.By))
	}
	return reasons
}

func (f Facts) ofJob(run RunFacts, job contract.JobView) []Reason {
	if job.Wait == nil {
		return nil
	}
	return f.expand(*job.Wait, run.ID, run.JobType)
}

// expand makes a reason of what workflow says it waits for, and adds who is in
// the way, where admission or the registry knows it.
func (f Facts) expand(wait contract.WaitReason, workflow, jobType string) []Reason {
	plain := []Reason{reason(Code(wait.Code), wait.Object, wait.Since, wait.Until, wait.Detail)}
	switch Code(wait.Code) { //nolint:exhaustive // the others are complete
	case Paused:
		if wait.Object == "" {
			plain[0].Object, plain[0].Remedy = workflow, "`roundsman runs resume "+workflow+"`"
		}
	case GlobalLimit:
		plain[0].Remedy = raise(workflow, "global_execution_concurrency")
	case PerWorkerLimit:
		plain[0].Remedy = raise(workflow, "per_worker_execution_concurrency")
	case WorkerUnreachable:
		return f.doubted(wait, plain[0])
	case NoWorker:
		return append(plain, f.away(wait.Object, jobType)...)
	case LaneBusy, ClaimsPending, ResourcesPending:
		return f.admission(wait, workflow, plain)
	}
	return plain
}

// raise is how a limit of a run is changed while it goes on.
func raise(run, setting string) string {
	return "wait, or `roundsman runs set " + run + " " + setting + "=N`"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "no time at all"
	}
	return t.UTC().Format(time.RFC3339)
}

// names lists holders, a few of them.
func names(uses []contract.AdmissionUse) string {
	const most = 5
	var list []string
	for _, use := range uses[:min(len(uses), most)] {
		name := use.WorkflowID
		if use.For != "" {
			name += "/" + use.For
		}
		if !use.FreeAt.IsZero() {
			name += " (ended, free at " + stamp(use.FreeAt) + ")"
		}
		list = append(list, name)
	}
	if len(uses) > most {
		list = append(list, fmt.Sprintf("%d more", len(uses)-most))
	}
	return strings.Join(list, ", ")
}
