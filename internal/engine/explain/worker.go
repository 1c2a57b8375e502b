package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// WorkerFacts are the facts from the registry and from the worker's process.
type WorkerFacts struct {
	contract.WorkerDetail

	// Report is the report of the process; Silent is the reason for its absence.
	Report *contract.WorkerReport
	Silent string
	// Types are the applied job types, including those that the worker cannot serve.
	Types []TypeFacts
}

// ofWorker explains why a worker gets no work: it is away, kept from work by an operator, full,
// or idle.
func (f Facts) ofWorker() []Reason {
	w := *f.Worker
	id := w.Registration.ID
	if trouble := f.troubleOf(w.WorkerDetail); len(trouble) > 0 {
		return f.whatStillRuns(trouble)
	}
	if f.Down != "" {
		return nil // Pending requests are unknown, too.
	}
	if w.Report == nil {
		if w.Silent == "" {
			return nil
		}
		// Single beats of a fresh worker are not reported, so LastBeat may be hours ago and the
		// start of the silence is unknown.
		return []Reason{reason(contract.CodeUnreachable, id, time.Time{}, time.Time{}, "the registry takes it for online, but "+w.Silent)}
	}
	jobs := executing(w.Report.Jobs)
	switch caps := w.Report.Caps; {
	case w.Report.Executing > 0 && w.Report.Executing >= caps.MaxExecute:
		return []Reason{reason(contract.CodeSlots, id, filledAt(jobs), time.Time{},
			fmt.Sprintf("%d of %d slots are in use: %s%s", w.Report.Executing, caps.MaxExecute, jobNames(jobs), zombies(w.Report.Zombies)))}
	case w.Report.Executing+w.Report.Detecting == 0:
		return []Reason{w.idle()}
	}
	return nil
}

// untaken explains work in the queue of a worker. The worker may be occupied by other runs,
// which have no record of each other.
func (f Facts) untaken() Reason {
	id := f.Taker.Registration.ID
	if id == "" {
		return reason(contract.CodeSlots, "", f.SentAt, time.Time{}, "it lies in the shared queue, and no worker that pulls it has taken it yet")
	}
	if r := f.Taker.Report; r != nil && r.Executing > 0 && r.Executing >= r.Caps.MaxExecute {
		return reason(contract.CodeSlots, id, f.SentAt, time.Time{}, fmt.Sprintf("it was sent there, where %d of %d slots are in use: %s%s; not taken within 5 s it is placed again",
			r.Executing, r.Caps.MaxExecute, jobNames(executing(r.Jobs)), zombies(r.Zombies)))
	}
	return reason(contract.CodeStarting, id, f.SentAt, time.Time{}, "it was sent to worker "+id+", which has not taken it yet")
}

// doubted explains suspect workers. Workers that report themselves as full are no worse than
// that: a run may have an old view of the work of other runs.
func (f Facts) doubted(wait contract.WaitReason, plain Reason) []Reason {
	var full, away []Reason
	for _, id := range NamesIn(wait.Object) {
		asked := f.Asked[id]
		if r := asked.Report; r != nil && r.Executing > 0 && r.Executing >= r.Caps.MaxExecute {
			jobs := executing(r.Jobs)
			full = append(full, reason(contract.CodeSlots, id, wait.Since, wait.Until, fmt.Sprintf("%d of %d slots are in use: %s%s", r.Executing, r.Caps.MaxExecute, jobNames(jobs), zombies(r.Zombies))))
			continue
		}
		one := plain
		one.Object = id
		away = append(away, one.with(remedy(plain.Code, id)))
	}
	return append(full, away...)
}

func (f Facts) whatStillRuns(trouble []Reason) []Reason {
	if r := f.Worker.Report; r != nil && r.Executing > 0 {
		trouble[0].Detail += fmt.Sprintf("; it still runs %s: %s", counted(r.Executing, "job"), jobNames(executing(r.Jobs)))
	}
	return trouble
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func executing(jobs []contract.WorkerJob) []contract.WorkerJob {
	return slices.DeleteFunc(slices.Clone(jobs), func(job contract.WorkerJob) bool { return job.Detection })
}

func filledAt(jobs []contract.WorkerJob) time.Time {
	var last time.Time
	for _, job := range jobs {
		if job.StartedAt.After(last) {
			last = job.StartedAt
		}
	}
	return last
}

func jobNames(jobs []contract.WorkerJob) string {
	const most = 5
	list := lists.Map(jobs[:min(len(jobs), most)], func(job contract.WorkerJob) string { return job.GroupID + "/" + job.JobID })
	if len(jobs) > most {
		list = append(list, fmt.Sprintf("%d more", len(jobs)-most))
	}
	return strings.Join(list, ", ")
}

func zombies(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of them ignore their cancellation", n)
}

func (w WorkerFacts) idle() Reason {
	var serving []string
	var next TypeFacts
	for _, t := range w.Types {
		if !t.servedBy(w.WorkerDetail) {
			continue
		}
		serving = append(serving, t.Name)
		if !t.Next.IsZero() && (next.Next.IsZero() || t.Next.Before(next.Next)) {
			next = t
		}
	}
	detail := fmt.Sprintf("it could run %s, but has no work: ", counted(w.Report.Caps.MaxExecute, "job"))
	switch {
	case len(serving) == 0:
		detail += "no applied job type uses its handlers (" + strings.Join(handlers(w.Registration), ", ") + ")"
	case next.Name == "":
		detail += "none of its job types is due (" + strings.Join(serving, ", ") + ")"
	default:
		detail += fmt.Sprintf("of its job types %s is due next, at %s", next.Name, stamp(next.Next))
	}
	r := reason(contract.CodeIdle, w.Registration.ID, time.Time{}, next.Next, detail)
	if len(serving) > 0 {
		r = r.with(or(about(action.RunJobType, "name", cmp.Or(next.Name, serving[0]))))
	}
	return r
}

func (t TypeFacts) servedBy(worker contract.WorkerDetail) bool {
	return slices.ContainsFunc(t.Wants, func(wanted Wanted) bool { return wanted.CapableOf(worker) })
}

func handlers(r contract.WorkerRegistration) []string {
	var list []string
	for _, c := range r.Capabilities {
		list = append(list, c.Handler)
	}
	return list
}

func (f Facts) troubleOf(worker contract.WorkerDetail) []Reason {
	id := worker.Registration.ID
	switch {
	case worker.State == contract.WorkerUnreachable || worker.State == contract.WorkerOffline || worker.State == contract.WorkerDeleted:
		away := []Reason{reason(contract.CodeUnreachable, id, worker.Since, time.Time{},
			fmt.Sprintf("it is %s%s; its last heartbeat was seen to change at %s", stateWord(worker.State), because(worker.Cause), stamp(worker.LastBeat)))}
		if worker.Mode != "" {
			away = append(away, reason(contract.CodeCordoned, id, worker.Kept.At, time.Time{},
				fmt.Sprintf("it will be %s when it is back, by %s", worker.Mode, keptBy(worker))))
		}
		return away
	case worker.State == contract.WorkerDraining || worker.State == contract.WorkerCordoned:
		return []Reason{reason(contract.CodeCordoned, id, worker.Kept.At, time.Time{}, fmt.Sprintf("it is %s, by %s", stateWord(worker.State), keptBy(worker)))}
	case !worker.Fresh:
		return []Reason{reason(contract.CodeUnreachable, id, worker.LastBeat, time.Time{}, "it is online, but sent no heartbeat for three intervals")}
	case worker.Trouble != nil:
		return []Reason{reason(worker.Trouble.Code, id, worker.Trouble.Since, time.Time{}, Trouble(*worker.Trouble))}
	}
	return nil
}

func because(t contract.WorkerTransition) string {
	if t.Reason == "" {
		return ""
	}
	return " (" + t.Reason + ")"
}

func keptBy(worker contract.WorkerDetail) string {
	by := cmp.Or(worker.Kept.By, "an operator")
	if worker.Kept.Note != "" {
		by += ": " + worker.Kept.Note
	}
	return by
}

// stateWord returns the state as a word of a sentence.
func stateWord(state contract.WorkerState) string { return strings.ToLower(string(state)) }

// missingWorkers returns a reason unless a worker can serve the job type now.
func (f Facts) missingWorkers() []Reason {
	for _, wanted := range f.Type.Wants {
		missing := wanted.Missing(f.Workers)
		if missing.Lack == LackNone {
			continue
		}
		away := f.away(wanted)
		since := f.Type.ChangedAt
		for _, one := range away {
			if one.Since.After(since) {
				since = one.Since
			}
		}
		none := reason(contract.CodeNoWorker, wanted.object(), since, time.Time{}, missing.Text()).with(missing.Remedy())
		return append([]Reason{none}, away...)
	}
	return nil
}

// object names the requirement: a worker ID, or a handler and labels.
func (w Wanted) object() string {
	if w.Node != "" {
		return w.Node
	}
	words := Server{}.lacks(w.Labels)
	if w.Handler != "" {
		words = append([]string{w.Handler}, words...)
	}
	return strings.Join(words, " ")
}

// wantedOf parses the object of NO_WORKER: a handler and labels, or a worker's ID, which no
// worker has as a handler.
func wantedOf(object, jobType string) Wanted {
	wanted := Wanted{JobType: jobType, Labels: map[string]string{}}
	for i, word := range strings.Fields(object) {
		name, value, label := strings.Cut(word, "=")
		switch {
		case label:
			wanted.Labels[name] = value
		case i == 0:
			wanted.Handler = word
		}
	}
	return wanted
}

func (f Facts) away(wanted Wanted) []Reason {
	const most = 10
	var away []Reason
	for _, worker := range f.Workers {
		if len(away) < most && wanted.CapableOf(worker) {
			away = append(away, f.troubleOf(worker)...)
		}
	}
	return away
}

func (f Facts) noWorker(one Reason, jobType string) []Reason {
	wanted := wantedOf(one.Object, jobType)
	if one.Object == "" {
		return []Reason{one}
	}
	if missing := wanted.Missing(f.Workers); missing.Lack == LackLabel || missing.Lack == LackJobType {
		one = one.with(missing.Remedy())
	}
	return append([]Reason{one}, f.away(wanted)...)
}
