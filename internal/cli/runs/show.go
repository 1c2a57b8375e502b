package runs

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
)

// mostShown bounds the tasks that are listed with a run.
const mostShown = 200

type shownRun struct {
	starter.Snapshot

	Failures []explain.Failure `json:"failures,omitempty"`
	Items    []starter.Item    `json:"items,omitempty"`
	// Total counts the matching items.
	Total int `json:"total,omitempty"`
	// Inside has the tasks of a job type with a DAG, while the run is open.
	Inside []insideRun `json:"inside,omitempty"`
	// AsOf is the time of the state that is shown without a control plane.
	AsOf time.Time `json:"as_of,omitzero"`
}

// ShowRun shows one run: its progress, or its result. Of a DAG it lists the tasks.
func ShowRun(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	c := &commands{p}
	snapshot, err := client.Runs().Show(ctx.Context, ref)
	if err != nil {
		return err
	}
	snapshot.RetriedBy, err = rerun.Of(client).Later(ctx.Context, snapshot.Run)
	c.Note(err)
	shown := shownRun{Snapshot: snapshot}
	lists := snapshot.Kind == starter.KindDAG
	if _, down := errors.AsType[*starter.ControlPlaneDownError](snapshot.Silence()); down {
		c.Note(snapshot.Silence())
	}
	switch {
	case !lists:
		var uncounted int
		shown.Failures, uncounted = client.Runs().Failures(ctx.Context, snapshot)
		defer func() { c.tellUncounted(ctx, uncounted) }()
		shown.Inside = c.inside(ctx.Context, client, snapshot)
	case snapshot.Progress != nil: // Without progress the counts are unknown, and the run has the reason.
		shown.Items, shown.Total, err = client.Runs().Items(ctx.Context, snapshot.RunRef, starter.ItemFilter{Limit: mostShown})
		if shown.Items = starter.Listed(shown.Items); err != nil {
			return err
		}
		if !snapshot.Open() {
			c.addTimes(ctx, client, &shown)
		}
	}
	if ui.WantsData(ctx) {
		shown.AsOf = starter.AsOf(ctx.Context)
		return c.Answer(ctx, shown, shown.WorkflowID)
	}
	c.printRun(snapshot)
	switch {
	case !lists:
		c.showValues(snapshot)
		c.showActive(snapshot.Active)
		c.showHeldBack(snapshot)
		c.showErrors(shown.Failures)
		c.printInside(shown.Inside)
	case ctx.Bool(FlagTree):
		fmt.Fprintln(c.Env.Stdout)
		c.printTree(ctx, client, shown)
	default:
		fmt.Fprintln(c.Env.Stdout)
		c.printItems(shown.Items, shown.Total, "nothing matches", false)
	}
	return nil
}

func (c *commands) tellUncounted(ctx *cli.Context, uncounted int) {
	if uncounted > 0 && !ui.WantsData(ctx) {
		c.Print("and %s failed whose messages are not known now", ui.Plural(uncounted, "item"))
	}
}

func (c *commands) printRun(snapshot starter.Snapshot) {
	now, shown := c.Env.Now(), &ui.Fields{}
	shown.Add("run", ui.Cell{Text: snapshot.WorkflowID, Paint: ui.Bold})
	shown.Add("job type", ui.Text(snapshot.JobType))
	shown.Add("DAG", ui.Text(snapshot.DAG))
	shown.Add("state", StateCell(snapshot.Standing))
	shown.Add("resumes", ui.Text(snapshot.Resumes))
	for _, later := range snapshot.RetriedBy {
		shown.Add("retried by", ui.Text(later))
	}
	shown.Add("started", ui.Textf("%s (%s)", ui.Stamp(snapshot.Started), ui.Ago(snapshot.Started, now)))
	if !snapshot.Ended.IsZero() {
		shown.Add("ended", ui.Textf("%s (%s)", ui.Stamp(snapshot.Ended), ui.Ago(snapshot.Ended, now)))
	}
	if modified := snapshot.ModifiedAt; snapshot.Open() && !modified.IsZero() {
		shown.Add("modified", ui.Textf("%s (%s)", ui.Stamp(modified), ui.Ago(modified, now)))
	}
	shown.Add("took", ui.Text(took(snapshot.Run, now)))
	shown.Add("pace", ui.Cell{Text: PaceText(snapshot.Pace), Paint: PaceCell(snapshot.Pace).Paint})
	shown.Add("failure", ui.Cell{Text: snapshot.Failure, Paint: ui.Bad})
	shown.Add("unanswered", ui.Cell{Text: snapshot.Unanswered, Paint: ui.Odd})
	shown.Add("reason", ui.Text(c.Env.Own.Code(ui.OneLine(snapshot.Reason))))
	shown.Add("phase", ui.Text(snapshot.Phase))
	if snapshot.Paused {
		why := cmp.Or(snapshot.PauseNote, "yes"+ui.ByWhom(snapshot.PausedBy))
		shown.Add("paused", ui.Cell{Text: why + c.Env.Own.Text(" (roundsman resume "+snapshot.WorkflowID+")"), Paint: ui.Odd})
	}
	shown.Add("waiting", ui.Cell{Text: snapshot.Waiting, Paint: ui.Odd})
	if snapshot.Progress != nil {
		counts := progress.Counts(snapshot)
		if snapshot.Group != nil {
			counts += fmt.Sprintf("; %d pending, %d running", snapshot.Group.Pending, snapshot.Group.Running)
		}
		shown.Add(itemsNoun(snapshot.Kind), ui.Text(counts))
	}
	shown.Add("deadline", ui.Text(ui.Stamp(snapshot.Deadline)))
	addGroup(shown, snapshot)
	c.addDAG(shown, snapshot)
	for _, worker := range snapshot.Workers {
		shown.Add("worker", ui.Text(workerText(worker)))
	}
	c.PrintFields(shown)
}

func itemsNoun(kind starter.Kind) string {
	if kind == starter.KindDAG {
		return "tasks"
	}
	return "jobs"
}

func workerText(worker contract.GroupWorker) string {
	text := fmt.Sprintf("%s %s, %d of %d slots", worker.ID, worker.State, min(worker.Running, worker.Slots), worker.Slots)
	if more := worker.Running - worker.Slots; more > 0 {
		text += fmt.Sprintf(" and %d more", more) // prefetched, or begun under a larger cap
	}
	if !worker.Usable {
		text += ", not used: " + cmp.Or(worker.Reason, "unknown reason")
	}
	return text
}

func addGroup(shown *ui.Fields, snapshot starter.Snapshot) {
	ignored := ui.Cell{Text: "ignored by request of an operator", Paint: ui.Odd}
	if group := snapshot.Group; group != nil {
		switch {
		case group.IgnoresWindow:
			shown.Add("window", ignored)
		case group.Window != nil:
			shown.Add("window closes", ui.Text(ui.Stamp(group.Window.Closes)))
		}
		if !group.LaneReleasedAt.IsZero() {
			shown.Add("lane", ui.Textf("%s, given back since %s: an approval waits", group.Lane, ui.Stamp(group.LaneReleasedAt)))
		}
		shown.Add("detector", ui.Text(group.Detector))
		addExplanations(shown, group.Explanations)
		if group.Targets > 0 && group.Phase == "detecting" {
			shown.Add("detecting", ui.Textf("on %d of %d workers", group.Detecting, group.Targets))
		}
		addMissed(shown, group.Missed, len(group.Missed))
	}
	result := snapshot.Result
	if result == nil {
		return
	}
	if result.Submission != "" {
		shown.Add("ad hoc", ui.Textf("%s, by %s", result.Submission, cmp.Or(result.SubmittedBy, "an unknown operator")))
	}
	if result.IgnoredWindow {
		shown.Add("window", ignored)
	}
	if result.Dropped != nil {
		shown.Add("dropped", ui.Cell{Text: droppedText(*result.Dropped), Paint: ui.Odd})
	}
	shown.Add("detector", ui.Text(result.Detector))
	addExplanations(shown, result.Explanations)
	addMissed(shown, result.Missed, result.Counts.MissedWorkers)
	for _, worker := range ui.SortedKeys(result.ByWorker) {
		shown.Add("worker", ui.Textf("%s completed %d", worker, result.ByWorker[worker]))
	}
}

func addExplanations(shown *ui.Fields, lines []string) {
	for _, line := range lines {
		shown.Add("detection", ui.Text(line))
	}
}

// addMissed lists the workers that a group for every worker does not reach.
func addMissed(shown *ui.Fields, missed []contract.MissedWorker, all int) {
	const most = 10
	for _, one := range missed[:min(len(missed), most)] {
		text := fmt.Sprintf("%s: %s: %s", one.Worker, one.Code, ui.OneLine(one.Detail))
		if one.Attempts > 0 {
			text += " (" + ui.Plural(one.Attempts, "detection") + " tried)"
		}
		shown.Add("missed", ui.Cell{Text: text, Paint: ui.Bad})
	}
	if more := all - min(len(missed), most); more > 0 {
		shown.Add("missed", ui.Cell{Text: fmt.Sprintf("and %d more", more), Paint: ui.Bad})
	}
}

func (c *commands) addDAG(shown *ui.Fields, snapshot starter.Snapshot) {
	state, id := snapshot.DAGStatus, snapshot.WorkflowID
	if state == nil {
		return
	}
	shown.Add("concurrency", ui.Text(strconv.Itoa(state.Concurrency)))
	if !state.HeldUntil.IsZero() {
		shown.Add("held", ui.Cell{Text: fmt.Sprintf(c.Env.Own.Text("until %s: `roundsman retry %s` tries again, `roundsman resume %s` ends it"), ui.Stamp(state.HeldUntil), id, id), Paint: ui.Odd})
	}
	for _, task := range state.Approvals {
		shown.Add("approval", ui.Cell{Text: fmt.Sprintf(c.Env.Own.Text("%s waits for %s (roundsman approve %s/%s)"), task.ID, cmp.Or(task.Waiting, "an approval"), id, task.ID), Paint: ui.Odd})
	}
}

func (c *commands) showActive(active []starter.ActiveItem) {
	if len(active) == 0 {
		return
	}
	now, listed := c.Env.Now(), ui.NewTable("JOB", "WORKER", "RUNNING", "PROGRESS", "MESSAGE")
	for _, item := range active {
		listed.Add(ui.Text(item.ID), ui.Text(item.Worker()), ui.Text(runningFor(item, now)), ui.Text(PercentOf(item)), ui.Text(MessageOf(item)))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "")
}

func (c *commands) showErrors(failures []explain.Failure) {
	if len(failures) == 0 {
		return
	}
	listed := ui.NewTable("FAILED", "JOB", "KEY", "WORKER", "ERROR")
	for i, failure := range failures {
		if i == maxFailures {
			break
		}
		listed.Add(ui.Textf("%d", failure.Count), ui.Text(failure.Example.JobID), ui.Text(failedKey(failure.Example)),
			ui.Text(failure.Example.Worker), ui.Cell{Text: failure.Message, Paint: ui.Bad, Cause: true})
	}
	c.Print("")
	c.PrintTable(listed, "")
	if more := len(failures) - maxFailures; more > 0 {
		c.Print("and %d other messages: roundsman jobs RUN -s bad", more)
	}
}

// maxFailures bounds the different messages.
const maxFailures = 50

// failedKey names a failed job by its dedupe key, or the first of its batch.
func failedKey(failed contract.JobError) string {
	key := failed.DedupeKey
	if failed.Items > 1 {
		key += fmt.Sprintf(" and %d more", failed.Items-1)
	}
	return key
}
