package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) workersShow() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "WORKER", Usage: "show one worker with its capabilities, jobs and history",
		Description: `What it runs is asked of the worker's own process. The states of a job there are: running, ending
(asked to end), reporting (ended, the server has not taken the outcome yet) and zombie (ignores
that it was asked to end).

Examples:
  roundsman workers show node-a
  roundsman workers show node-a --state zombie
  roundsman workers show node-a --output json | jq .report.jobs`,
		Flags: with(&cli.StringSliceFlag{
			Name: "state", Aliases: []string{"s"},
			Usage: "only jobs in `STATE`: running, ending, reporting, zombie; may be given several times",
		}),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			id, err := oneName(ctx)
			if err != nil {
				return err
			}
			states, err := workerJobStates(ctx.StringSlice("state"))
			if err != nil {
				return err
			}
			worker, err := client.Worker(ctx.Context, id)
			if err != nil {
				return err
			}
			shown := shownWorker{WorkerDetail: worker, Caps: worker.Registration.Caps()}
			if err := shown.ask(ctx, client); err != nil {
				return err
			}
			shown.keep(states)
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, shown)
			}
			c.showWorker(shown)
			return nil
		}),
	}
}

func workerJobStates(written []string) ([]contract.WorkerJobState, error) {
	var states []contract.WorkerJobState
	for _, name := range written {
		state := contract.WorkerJobState(name)
		if !slices.Contains(contract.WorkerJobStates(), state) {
			return nil, usagef("--state %s: must be one of %v", name, contract.WorkerJobStates())
		}
		states = append(states, state)
	}
	return states, nil
}

// shownWorker is what the registry and the worker's process say.
type shownWorker struct {
	contract.WorkerDetail
	Caps contract.WorkerCaps `json:"caps"`
	// Report is the process's own answer; Silent says why there is none.
	Report *contract.WorkerReport `json:"report,omitempty"`
	Silent string                 `json:"silent,omitempty"`
}

// ask asks the worker's process. That it does not answer is worth showing, not
// an error.
func (w *shownWorker) ask(ctx *cli.Context, client *starter.Client) error {
	if w.State == contract.WorkerDeleted {
		w.Silent = "the worker is DELETED"
		return nil
	}
	report, err := client.AskWorker(ctx.Context, w.Registration.ID)
	var silent *starter.SilentWorkerError
	switch {
	case errors.As(err, &silent):
		w.Silent = silent.Error()
	case err != nil:
		return err
	case report.Instance != w.Registration.Instance:
		w.Silent = fmt.Sprintf("another process answers for this id (instance %s), not the registered one", report.Instance)
	default:
		w.Report = &report
	}
	return nil
}

func (w *shownWorker) keep(states []contract.WorkerJobState) {
	if w.Report != nil && len(states) > 0 {
		w.Report.Jobs = slices.DeleteFunc(w.Report.Jobs, func(job contract.WorkerJob) bool { return !slices.Contains(states, job.State) })
	}
}

// lastBeat is when it last beat, as far as that is told: single beats are not.
func lastBeat(worker contract.WorkerDetail, now time.Time) string {
	if worker.Fresh {
		return "fresh"
	}
	return ago(worker.LastBeat, now)
}

func (c *commands) showWorker(worker shownWorker) {
	now, known, shown := c.env.Now(), worker.Registration, &fields{}
	shown.add("worker", textf("%s", known.ID))
	shown.add("state", workerState(worker.WorkerDetail))
	shown.add("for", text(span(max(now.Sub(worker.Since), 0))))
	shown.add("host", textf("%s pid %d", known.Host, known.PID))
	shown.add("version", textf("%s", known.Version))
	shown.add("instance", textf("%s", known.Instance))
	shown.add("registered", textf("%s (%s)", stamp(worker.RegisteredAt), ago(worker.RegisteredAt, now)))
	shown.add("last beat", text(lastBeat(worker.WorkerDetail, now)))
	if skew := worker.Skew.Std(); skew.Abs() > time.Second {
		shown.add("clock skew", cell{text: worker.Skew.String(), paint: odd})
	}
	shown.add("slots", slotsOf(worker))
	if known.Resized != nil {
		shown.add("resized", cell{text: fmt.Sprintf("by an operator; it was started with %d detect, %d execute", known.MaxDetect, known.MaxExecute), paint: odd})
	}
	shown.add("job types", textf("%s", strings.Join(known.JobTypes, ", ")))
	shown.add("shared queues", textf("%s", strings.Join(known.Shared, ", ")))
	shown.add("labels", textf("%s", labelsOf(known.Labels)))
	if report := worker.Report; report != nil && report.Undelivered > 0 {
		shown.add("undelivered", cell{text: fmt.Sprintf("%d outcomes that the server has not taken yet", report.Undelivered), paint: odd})
	}
	shown.write(c.env.Stdout, c.env.colors())
	c.showCapabilities(known)
	c.showWorkerJobs(worker)
	c.showTransitions(worker.Transitions)
}

func slotsOf(worker shownWorker) cell {
	if worker.Report == nil {
		return textf("%d detect, %d execute", worker.Caps.MaxDetect, worker.Caps.MaxExecute)
	}
	return textf("%d of %d detect, %d of %d execute", worker.Report.Detecting, worker.Report.Caps.MaxDetect, worker.Report.Executing, worker.Report.Caps.MaxExecute)
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
	listed := newTable("HANDLER", "DETECT", "EXECUTE")
	for _, capability := range known.Capabilities {
		listed.add(text(capability.Handler), text(limit(capability.Detect, capability.MaxDetect)), text(limit(capability.Execute, capability.MaxExecute)))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "no handlers")
}

func (c *commands) showWorkerJobs(worker shownWorker) {
	fmt.Fprintln(c.env.Stdout)
	if worker.Report == nil {
		fmt.Fprintln(c.env.Stdout, odd.apply(c.env.colors(), "what it runs is not known: "+worker.Silent))
		return
	}
	now, listed := c.env.Now(), newTable("JOB", "RUN", "STATE", "RUNS FOR", "ATTEMPT", "PROGRESS")
	for _, job := range worker.Report.Jobs {
		state := cell{text: string(job.State), paint: plain}
		if job.State != contract.WorkerJobRunning {
			state.paint = odd
		}
		listed.add(text(job.JobID), text(job.GroupID), state, text(span(max(now.Sub(job.StartedAt), 0))), textf("%d", job.Attempt), text(progressOf(job)))
	}
	listed.write(c.env.Stdout, c.env.colors(), "it runs nothing")
	if worker.Report.Omitted > 0 {
		fmt.Fprintf(c.env.Stdout, "and %d more\n", worker.Report.Omitted)
	}
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
	return shorten(strings.Join(parts, " "), 60)
}

func (c *commands) showTransitions(transitions []contract.WorkerTransition) {
	if len(transitions) == 0 {
		return
	}
	now, listed := c.env.Now(), newTable("WHEN", "STATE", "REASON", "BY")
	for _, change := range transitions {
		listed.add(text(ago(change.At, now)), textf("%s", change.To), textf("%s", change.Reason), textf("%s", change.By))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "")
}
