package workers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// Show prints one worker. The worker's process names its jobs. If the process does not answer, the open runs name them.
func Show(p *ui.Program, ctx *cli.Context, client *starter.Client, id string) error {
	shown, err := workerview.Shown(ctx.Context, client, id)
	if err != nil {
		return err
	}
	verdict, fault := workerview.MayReboot(ctx.Context, client, shown)
	p.Note(fault)
	if ui.WantsData(ctx) {
		return p.Answer(ctx, struct {
			workerview.ShownWorker
			Reboot workerview.Reboot `json:"reboot"`
		}{shown, verdict}, id)
	}
	(&commands{p}).showWorker(shown, verdict.Text)
	return nil
}

// lastBeat returns the age of the last heartbeat. The registry has it only for workers that are late.
func lastBeat(worker contract.WorkerDetail, now time.Time) string {
	if worker.Fresh {
		return "fresh"
	}
	return ui.Ago(worker.LastBeat, now)
}

func (c *commands) showWorker(worker workerview.ShownWorker, mayReboot string) {
	now, known, shown := c.Env.Now(), worker.Registration, &ui.Fields{}
	shown.Add("worker", ui.Textf("%s", known.ID))
	shown.Add("state", State(worker.WorkerDetail))
	shown.Add("for", ui.Text(ui.Span(max(now.Sub(worker.Since), 0))))
	if worker.Trouble != nil {
		shown.Add("trouble", ui.Cell{Text: worker.Trouble.Reason, Paint: ui.Bad})
	}
	shown.Add("host", ui.Textf("%s pid %d", known.Host, known.PID))
	shown.Add("version", ui.Textf("%s", known.Version))
	shown.Add("instance", ui.Textf("%s", known.Instance))
	shown.Add("registered", ui.Textf("%s (%s)", ui.Stamp(worker.RegisteredAt), ui.Ago(worker.RegisteredAt, now)))
	shown.Add("last beat", ui.Text(lastBeat(worker.WorkerDetail, now)))
	if skew := worker.Skew.Std(); skew.Abs() > time.Second {
		shown.Add("clock skew", ui.Cell{Text: worker.Skew.String(), Paint: ui.Odd})
	}
	shown.Add("slots", slotsOf(worker))
	if known.Resized != nil {
		shown.Add("resized", ui.Cell{Text: fmt.Sprintf("by an operator; it was started with %d detect, %d execute", known.MaxDetect, known.MaxExecute), Paint: ui.Odd})
	}
	if worker.IfDrained != nil {
		shown.Add("if drained", ui.Text("free "+freeText(*worker.IfDrained, worker.Report == nil, now)))
	}
	shown.Add("reboot", ui.Textf("%s", mayReboot))
	shown.Add("job types", ui.Textf("%s", strings.Join(known.JobTypes, ", ")))
	shown.Add("shared queues", ui.Textf("%s", strings.Join(known.Shared, ", ")))
	shown.Add("labels", ui.Textf("%s", labelsOf(known.Labels)))
	if report := worker.Report; report != nil {
		shown.Add("queued", ui.Textf("%s", countsOf(report.Queued)))
		shown.Add("queued detections", ui.Textf("%s", countsOf(report.QueuedDetections)))
	}
	if report := worker.Report; report != nil && report.Undelivered > 0 {
		shown.Add("undelivered", ui.Cell{Text: fmt.Sprintf("%d outcomes that the server has not taken yet", report.Undelivered), Paint: ui.Odd})
	}
	c.PrintFields(shown)
	c.showCapabilities(known)
	c.showWorkerJobs(worker)
	c.showTransitions(worker.Transitions)
}

func countsOf(counts map[string]int) string {
	listed := lists.Map(slices.Sorted(maps.Keys(counts)), func(name string) string { return fmt.Sprintf("%s %d", name, counts[name]) })
	return strings.Join(listed, ", ")
}

func slotsOf(worker workerview.ShownWorker) ui.Cell {
	if worker.Report == nil {
		return ui.Textf("%d detect, %d execute", worker.Caps.MaxDetect, worker.Caps.MaxExecute)
	}
	return ui.Textf("%d of %d detect, %d of %d execute", worker.Report.Detecting, worker.Report.Caps.MaxDetect, worker.Report.Executing, worker.Report.Caps.MaxExecute)
}

func (c *commands) showCapabilities(known contract.WorkerRegistration) {
	limit := func(can bool, limit int) string {
		switch {
		case !can:
			return "no"
		case limit == 0:
			return "yes"
		}
		return fmt.Sprintf("at most %d", limit)
	}
	listed := ui.NewTable("HANDLER", "DETECT", "EXECUTE")
	for _, capability := range known.Capabilities {
		listed.Add(ui.Text(capability.Handler), ui.Text(limit(capability.Detect, capability.MaxDetect)), ui.Text(limit(capability.Execute, capability.MaxExecute)))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "no handlers")
}

func (c *commands) showWorkerJobs(worker workerview.ShownWorker) {
	fmt.Fprintln(c.Env.Stdout)
	if worker.Report == nil {
		fmt.Fprintln(c.Env.Stdout, ui.Odd.Apply(c.Env.Colors(), "its process does not report its jobs: "+worker.Silent))
		c.showItems(worker)
		return
	}
	now, listed := c.Env.Now(), ui.NewTable("JOB", "RUN", "STATE", "RUNS FOR", "ATTEMPT", "PROGRESS")
	for _, job := range worker.Report.Jobs {
		state := ui.Cell{Text: string(job.State), Paint: ui.Plain}
		if job.State != contract.WorkerJobRunning {
			state.Paint = ui.Odd
		}
		listed.Add(ui.Text(job.JobID), ui.Text(job.GroupID), state, ui.Text(ui.Span(max(now.Sub(job.StartedAt), 0))), ui.Textf("%d", job.Attempt), ui.Text(progressOf(job)))
	}
	c.PrintTable(listed, "it runs nothing")
	if worker.Report.Omitted > 0 {
		c.Print("and %d more", worker.Report.Omitted)
	}
}

// showItems lists the items that open runs have on a silent worker.
func (c *commands) showItems(worker workerview.ShownWorker) {
	if worker.Unanswered != "" {
		c.Complain("note: %s", worker.Unanswered)
	}
	now, listed := c.Env.Now(), ui.NewTable("JOB", "RUN", "STATE", "RUNS FOR", "ATTEMPT", "WHAT")
	for _, item := range worker.Items {
		listed.Add(ui.Text(item.ID), ui.Text(item.Run.WorkflowID), ui.Text(item.State), ui.Text(ui.Span(max(now.Sub(item.StartedAt), 0))),
			ui.Textf("%d", item.Attempt), ui.Text(ui.OneLine(cmp.Or(item.DedupeKey, item.Summary))))
	}
	c.PrintTable(listed, "no open run has anything there")
}

func progressOf(job contract.WorkerJob) string {
	parts := []string{}
	if job.Percent >= 0 {
		parts = append(parts, fmt.Sprintf("%.0f%%", job.Percent))
	}
	for _, said := range []string{job.Stage, job.Message} {
		if said != "" {
			parts = append(parts, said)
		}
	}
	return strings.Join(parts, " ")
}

func (c *commands) showTransitions(transitions []contract.WorkerTransition) {
	if len(transitions) == 0 {
		return
	}
	now, listed := c.Env.Now(), ui.NewTable("WHEN", "STATE", "REASON", "BY")
	for _, change := range transitions {
		listed.Add(ui.Text(ui.Ago(change.At, now)), ui.Textf("%s", change.To), ui.Textf("%s", change.Reason), ui.Textf("%s", change.By))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "")
}
