package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Why returns the reasons, ordered. It is empty for things that run or have ended.
func Why(f Facts) []Reason {
	var reasons []Reason
	if f.Down != "" {
		down := reason(contract.CodeControlPlaneDown, "", f.Control.LastPoll, time.Time{}, f.Down)
		if f.Control.Slow {
			down = down.with(or(down.Actions...))
		}
		reasons = append(reasons, down)
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
	case f.Receiver != nil:
		reasons = append(reasons, f.ofReceiver()...)
	case f.Item != nil:
		reasons = append(reasons, f.ofItem(*f.Run, *f.Item)...)
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
		reasons = append(reasons, of(inner.Name, slices.Clone(inner.Reasons))...)
	}
	return ordered(reasons)
}

// State returns the state of the thing in one word.
func State(f Facts) string {
	switch {
	case f.Worker != nil:
		return string(f.Worker.State)
	case f.Receiver != nil:
		return f.stateOfReceiver()
	case f.Taker != nil:
		return "assigned"
	case f.Run != nil && f.mute(f.Run.ID) != "":
		return f.mute(f.Run.ID)
	case f.Item != nil:
		return cmp.Or(f.Item.State, "open")
	case f.Run != nil:
		return f.Run.state()
	case f.Type != nil && len(f.Runs) > 0:
		return f.stateOfType()
	}
	return "idle"
}

// Nothing is the answer without a reason.
func Nothing(f Facts) string {
	state := State(f)
	switch {
	case f.Receiver != nil:
		return "it took all notifications: nothing waits for it"
	case f.Worker != nil:
		return "it has work and could take more"
	case state == "running":
		return "it runs: it waits for nothing"
	case slices.Contains([]string{"idle", "open", "preparing", "waiting", "detecting", "claiming", "dispatching", "ending", "pending", "assigned"}, state):
		return "it is " + state + ": it waits for nothing"
	}
	return "it has ended: it waits for nothing"
}

func (r RunFacts) state() string {
	switch {
	case !r.Open:
		return cmp.Or(r.Outcome, "ended")
	case r.Answer == nil:
		return "open"
	case r.Answer.Running > 0 && r.DAG == "": // The phase of a DAG's run says it.
		return "running"
	case r.Answer.Running == 0 && r.Answer.Phase == "running" && len(r.Answer.Waits) > 0:
		return "waiting"
	}
	return r.Answer.Phase
}

// stateOfType is running if any run is.
func (f Facts) stateOfType() string {
	for _, run := range f.Runs {
		if run.state() == "running" {
			return "running"
		}
	}
	return f.Runs[0].state()
}

func reason(code contract.Code, object string, since, until time.Time, detail string) Reason {
	return Reason{Code: code, Object: object, Since: since, Until: until, Detail: detail}.with(remedy(code, object))
}

func of(what string, reasons []Reason) []Reason {
	for i := range reasons {
		reasons[i].Of = cmp.Or(reasons[i].Of, what)
	}
	return reasons
}

// ordered sorts by code. Equal reasons become one entry with their number.
func ordered(reasons []Reason) []Reason {
	rank := map[contract.Code]int{}
	for i, code := range Codes() {
		rank[code] = i
	}
	type thing struct {
		code   contract.Code
		object string
	}
	known := map[thing]int{}
	kept := reasons[:0]
	for _, one := range reasons {
		key := thing{one.Code, one.Object}
		if one.Code == contract.CodeApproval { // A task of one run; each needs an answer.
			key.object = one.Of + "/" + one.Object
		}
		at, told := known[key]
		switch {
		case !told:
			known[key] = len(kept)
			kept = append(kept, one)
		case kept[at].Of != one.Of:
			kept[at].more += 1 + one.more
		}
	}
	for at := range kept {
		kept[at] = kept[at].withMentions()
		if n := kept[at].more; n > 0 {
			kept[at].Detail, kept[at].more = kept[at].Detail+fmt.Sprintf(" (and %d more wait for it)", n), 0
		}
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
		reasons = append(reasons, reason(contract.CodeDisabled, f.Type.Name, f.Type.ChangedAt, time.Time{}, "the configuration has enabled: false"))
	case f.Type.Paused:
		reasons = append(reasons, reason(contract.CodePaused, f.Type.Name, f.Type.PausedAt, time.Time{}, f.Type.pauseText()))
	case len(f.Runs) == 0 && !f.Type.Next.IsZero():
		reasons = append(reasons, reason(contract.CodeNotDue, f.Type.Name, f.Type.LastTick, f.Type.Next, "it is not due"))
	}
	if len(f.Runs) == 0 && f.Type.WindowClosed != "" {
		reasons = append(reasons, f.Type.windowClosed())
	}
	if len(f.Runs) == 0 && f.Down == "" {
		reasons = append(reasons, f.missingWorkers()...)
	}
	return reasons
}

// windowClosed returns the reason for a closed window: a due run ends at once, or waits for it to open.
func (t TypeFacts) windowClosed() Reason {
	since := t.WindowSince
	if since.IsZero() {
		since = t.ChangedAt
	}
	detail := "its maintenance window is closed: " + t.WindowClosed
	if t.WindowOpens.IsZero() {
		detail += "; none opens within 400 days"
	}
	return reason(contract.CodeWindowClosed, t.Name, since, t.WindowOpens, detail)
}

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
	answer := run.Answer
	if answer == nil {
		if f.Down != "" || f.mute(run.ID) != "" {
			return nil
		}
		return []Reason{reason(contract.CodeStarting, run.ID, run.StartedAt, time.Time{}, "the run has just been started")}
	}
	var reasons []Reason
	for _, wait := range answer.Waits {
		reasons = append(reasons, f.expand(wait, run, ItemFacts{})...)
	}
	if len(reasons) == 0 && answer.Phase == "preparing" {
		reasons = append(reasons, reason(contract.CodeStarting, run.ID, run.StartedAt, time.Time{}, "it looks up workers and its past runs"))
	}
	for _, missed := range answer.Missed {
		reasons = append(reasons, missedWorker(run.ID, missed, run.StartedAt))
	}
	if n := answer.More; n > 0 && len(reasons) > 0 {
		reasons[len(reasons)-1].Detail += fmt.Sprintf(" (and %d more reasons of other tasks)", n)
	}
	for _, item := range run.Pending {
		held := slices.DeleteFunc(f.ofItem(run, item), func(r Reason) bool { return answer.Running > 0 && OwnPace(r.Code) })
		for i := range held {
			held[i].more = item.More
		}
		reasons = append(reasons, of(run.ID+"/"+item.ID, held)...)
	}
	for _, deduped := range answer.Deduped {
		reasons = append(reasons, reason(contract.CodeDeduped, deduped.DedupeKey, run.StartedAt, time.Time{}, "the same work is active in "+deduped.By))
	}
	return reasons
}

// OwnPace reports a wait that the run's own work ends, so nothing delays the run.
func OwnPace(code contract.Code) bool {
	return code == contract.CodeGlobalLimit || code == contract.CodeBacklog || code == contract.CodeWorkerLimit || code == contract.CodeLosesWorkers || code == contract.CodeSlots
}

// missedWorker explains why a run for every worker does not reach one of them.
func missedWorker(run string, missed contract.MissedWorker, since time.Time) Reason {
	switch code := missed.Code; code { //nolint:exhaustive // the others are the detection's
	case contract.CodeUnreachable, contract.CodeCordoned, contract.CodeSlots:
		return reason(code, missed.Worker, since, time.Time{}, "the run is for every worker: "+missed.Detail)
	}
	found := reason(contract.CodeNoWorker, missed.Worker, since, time.Time{}, string(missed.Code)+": "+missed.Detail)
	return found.with(Remedy{Hint: "repair the cause: the next run detects there again", Actions: []action.Action{about(action.GetRun, "run", run)}})
}

func (f Facts) ofItem(run RunFacts, item ItemFacts) []Reason {
	var reasons []Reason
	for _, wait := range item.Waits {
		reasons = append(reasons, f.expand(wait, run, item)...)
	}
	return reasons
}

// expand returns the reason for a wait of a run or its item. It adds the holders or workers that
// cause the wait, if admission or the registry has them. item is empty for the run.
func (f Facts) expand(wait contract.WaitReason, run RunFacts, item ItemFacts) []Reason {
	if wait.Since.IsZero() {
		wait.Since = run.StartedAt
	}
	one := reason(contract.Code(wait.Code), wait.Object, wait.Since, wait.Until, wait.Detail)
	if item.ID == "" && wait.Items == 1 {
		item.ID = wait.Item
	}
	if own, ok := remedyIn(one, run, item); ok {
		one = one.with(own)
	}
	switch one.Code { //nolint:exhaustive // the others are complete
	case contract.CodePaused, contract.CodeConcurrency:
		one.Object = cmp.Or(one.Object, run.ID)
	case contract.CodeUnreachable:
		return f.doubted(wait, one)
	case contract.CodeNoWorker:
		return f.noWorker(one, cmp.Or(run.JobType, run.DAG))
	case contract.CodeLaneBusy, contract.CodeClaims, contract.CodeResources:
		return f.admission(wait, run.ID, []Reason{one})
	}
	return []Reason{one}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "no time at all"
	}
	return t.UTC().Format(time.RFC3339)
}

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
