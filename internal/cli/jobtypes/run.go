package jobtypes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Start starts a run now, as if the job type were due.
func Start(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) error {
	return (&commands{p}).runJobType(ctx, client, name)
}

func (c *commands) runJobType(ctx *cli.Context, client *starter.Client, name string) error {
	known, err := jobtypes.Of(client).Get(ctx.Context, name)
	if err != nil {
		return err
	}
	if known.Paused {
		c.Complain("note: %s is paused%s; this run is an exception", name, runs.PauseOf(known))
	}
	if params := ui.Pairs(ctx, ui.FlagParam); len(params) > 0 {
		return c.runWith(ctx, client, known, params)
	}
	trigger := jobtypes.Of(client).Trigger
	switch {
	case ctx.Bool(ui.FlagIgnoreWindow):
		trigger = jobtypes.Of(client).TriggerIgnoringWindow
	case known.Window != nil && !known.Window.Open:
		c.Complain("note: the window of %s is %s; --ignore-window runs it all the same", name, runs.WindowState(known.Window, c.Env.Now()).Text)
		if opens := known.Window.Until; ctx.Bool(ui.FlagWait) && !opens.IsZero() {
			c.Complain("note: --wait waits %s for the window, as long as the run waits for it", ui.Span(opens.Sub(c.Env.Now())))
		}
	}
	triggered, err := trigger(ctx.Context, name)
	if err != nil {
		return err
	}
	return c.ran(ctx, client, known, triggered)
}

// A Schedule cannot pass params to one run, so runWith submits one job.
func (c *commands) runWith(ctx *cli.Context, client *starter.Client, known jobtypes.JobType, params [][2]string) error {
	if known.Spec.DAG == nil {
		return c.detectWith(ctx, client, known, params)
	}
	values := map[string]string{}
	for _, param := range params {
		values[param[0]] = param[1]
	}
	encoded, err := json.Marshal(values)
	if err != nil {
		return err
	}
	dag := known.Spec.DAG.Name
	submission := contract.Submission{
		ID: newRunName(c.Env.Now()), By: c.Operator(), IgnoreWindow: ctx.Bool(ui.FlagIgnoreWindow),
		Proposals: []jobtype.Proposal{{
			DedupeKey: jobtype.KeyOf(dag + " " + string(encoded)), Summary: jobtype.OneLine("DAG "+dag+" with "+string(encoded), jobtype.MaxSummaryBytes), Params: encoded,
		}},
	}
	submitted, err := jobtypes.Of(client).Submit(ctx.Context, known, submission)
	if _, faulty := errors.AsType[*jobtypes.SubmissionError](err); faulty {
		return ui.Faulty(err)
	}
	if err != nil {
		return err
	}
	return c.ran(ctx, client, known, jobtypes.Triggered{RunRef: submitted.RunRef})
}

// detectWith starts a run whose detection and jobs get these params.
func (c *commands) detectWith(ctx *cli.Context, client *starter.Client, known jobtypes.JobType, params [][2]string) error {
	merged, err := c.overlaid(ctx, client, known.Spec, params)
	if err != nil {
		return err
	}
	if w := known.Window; w != nil && !w.Open && !ctx.Bool(ui.FlagIgnoreWindow) {
		c.Complain("note: the window of %s is %s; --ignore-window runs it all the same", known.Name, runs.WindowState(w, c.Env.Now()).Text)
	}
	run, err := jobtypes.Of(client).StartWith(ctx.Context, known, jobtypes.OwnParams{
		ID: newRunName(c.Env.Now()), Params: merged, Names: paramNames(params), IgnoreWindow: ctx.Bool(ui.FlagIgnoreWindow),
	})
	if err != nil {
		return err
	}
	return c.ran(ctx, client, known, jobtypes.Triggered{RunRef: run})
}

// overlaid returns the params of spec with those of the command line, as its handler accepts them.
func (c *commands) overlaid(ctx *cli.Context, client *starter.Client, spec contract.JobTypeSpec, params [][2]string) (json.RawMessage, error) {
	over, err := ui.ParamsJSON(params)
	if err != nil {
		return nil, err
	}
	merged, err := jobtype.OverlayParams(spec.Params, over)
	if err != nil {
		return nil, ui.Faulty(fmt.Errorf("--param: %w", err))
	}
	return merged, runs.CheckParams(ctx.Context, c.Program, client, spec.Handler, merged)
}

func paramNames(params [][2]string) []string {
	return lists.Map(params, func(param [2]string) string { return param[0] })
}

// ran reports a run that was just started. With --wait it follows the run to its end.
func (c *commands) ran(ctx *cli.Context, client *starter.Client, known jobtypes.JobType, triggered jobtypes.Triggered) error {
	if !ctx.Bool(ui.FlagWait) {
		return c.began(ctx, client, known, triggered)
	}
	ref := starter.RunRef{WorkflowID: triggered.WorkflowID}
	if !ui.WantsData(ctx) {
		return ui.GoesOn(ref, runs.Watch(c.Program, ctx, client, ref))
	}
	return ui.GoesOn(ref, runs.WaitJSON(c.Program, ctx, client, ref))
}

// began prints whether a run that was just started works, waits or was skipped.
func (c *commands) began(ctx *cli.Context, client *starter.Client, known jobtypes.JobType, triggered jobtypes.Triggered) error {
	how, begun := "started", jobtypes.Begun{}
	switch {
	case triggered.Buffered:
		how = "waits for the running group:"
	case triggered.Released:
		how = "released from its window:"
	default:
		begun = jobtypes.Of(client).Begin(ctx.Context, known.Spec, triggered.RunRef)
	}
	answer := map[string]any{"job_type": known.Name, "workflow_id": triggered.WorkflowID, "run_id": triggered.RunID, "buffered": triggered.Buffered, "released": triggered.Released, "begun": begun}
	if err := c.Done(ctx, answer, "%s %s%s (follow it with `roundsman watch %s`)", how, triggered.WorkflowID, laneText(begun), triggered.WorkflowID); err != nil {
		return err
	}
	if begun.Skipped != "" {
		c.Complain("skipped: %s", begun.Skipped)
		return ui.Silent(ui.ExitFailed)
	}
	return nil
}

func laneText(begun jobtypes.Begun) string {
	if begun.Lane == "" {
		return ""
	}
	text := fmt.Sprintf(", which waits for lane %s behind %s", begun.Lane, begun.Behind)
	if begun.Ahead > 0 {
		text += fmt.Sprintf(" and beside %d that wait, too", begun.Ahead)
	}
	return text
}

const (
	// detectWithin is the wait for a dry run.
	detectWithin = 10 * time.Minute
	// mostProposals is the number of proposals in its table.
	mostProposals = 20
)

// Detect lists the jobs of a run, and starts none. The settings are the applied ones, or those of the files of --config.
func Detect(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) error {
	return (&commands{p}).detect(ctx, client, name)
}

func (c *commands) detect(ctx *cli.Context, client *starter.Client, name string) error {
	spec, err := c.specOf(ctx, client, name)
	if err != nil {
		return err
	}
	switch params := ui.Pairs(ctx, ui.FlagParam); {
	case len(params) == 0:
	case spec.DAG != nil:
		return ui.Usagef("%s runs a DAG: with --param it starts one job, without a detection to try; `roundsman start FILE --dry-run` takes params", name)
	default:
		if spec.Params, err = c.overlaid(ctx, client, spec, params); err != nil {
			return err
		}
	}
	ref, err := client.Runs().StartDryRun(ctx.Context, spec, newRunName(c.Env.Now()))
	if err != nil {
		return err
	}
	result, err := c.awaitDryRun(ctx, client, ref)
	if err != nil {
		return err
	}
	if ui.WantsData(ctx) {
		result.Proposals = lists.OrEmpty(result.Proposals)
		err = c.Answer(ctx, result)
	} else {
		c.printProposals(result)
	}
	if err == nil && result.Outcome != contract.OutcomeCompleted {
		return ui.Silent(ui.ExitFailed)
	}
	return err
}

// specOf returns the spec of the file if the line names one, else the applied spec.
func (c *commands) specOf(ctx *cli.Context, client *starter.Client, name string) (contract.JobTypeSpec, error) {
	if len(ctx.StringSlice(ui.FlagConfig)) == 0 {
		known, err := jobtypes.Of(client).Get(ctx.Context, name)
		return known.Spec, err
	}
	known, err := client.Workers().Handlers(ctx.Context)
	c.Note(err) // Handlers of this binary need no fleet.
	loaded, err := c.Load(ctx, known)
	if err != nil {
		return contract.JobTypeSpec{}, err
	}
	specs, err := loaded.Specs()
	if err != nil {
		return contract.JobTypeSpec{}, err
	}
	for _, spec := range specs {
		if spec.Name == name {
			return spec, nil
		}
	}
	return contract.JobTypeSpec{}, ui.Usagef("the configuration has no job type %s: it has %s", name, strings.Join(ui.SortedKeys(loaded.JobTypes), ", "))
}

// awaitDryRun cancels the dry run if the operator interrupts: nothing else uses the result.
func (c *commands) awaitDryRun(ctx *cli.Context, client *starter.Client, ref starter.RunRef) (contract.JobGroupResult, error) {
	waiting, cancel := context.WithTimeout(ctx.Context, detectWithin)
	defer cancel()
	telling, told := context.WithCancel(waiting)
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		c.tellWaiting(telling, client, ref)
	}()
	result, err := client.Runs().Result(waiting, ref)
	told()
	<-silent
	if waiting.Err() == nil {
		return result, err
	}
	cleanup, done := context.WithTimeout(context.WithoutCancel(ctx.Context), starter.DialTimeout)
	defer done()
	snapshot, showErr := client.Runs().Show(cleanup, ref)
	cancelErr := client.Runs().Cancel(cleanup, ref, "the operator no longer waits")
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	why := "no worker has detected: is one with the handler online? see `roundsman workers`"
	if showErr == nil && snapshot.Group != nil && snapshot.Group.Waiting != "" {
		why = snapshot.Group.Waiting
	} else if snapshot.Unanswered != "" {
		why = snapshot.Unanswered
	}
	return result, errors.Join(fmt.Errorf("no result within %s: %s", detectWithin, why), cancelErr)
}

// detectPatience is the wait of a dry run before the reason is printed, and the interval of its reads.
const detectPatience = 3 * time.Second

// tellWaiting prints the reason why a dry run waits, after each change, until ctx ends.
func (c *commands) tellWaiting(ctx context.Context, client *starter.Client, ref starter.RunRef) {
	last, tick := "", time.NewTicker(detectPatience)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		snapshot, err := client.Runs().Show(ctx, ref)
		if err != nil || ctx.Err() != nil {
			continue
		}
		why := snapshot.Unanswered
		if snapshot.Group != nil {
			why = snapshot.Group.Waiting
		}
		if why != "" && why != last {
			c.Complain("waiting: %s (see `roundsman explain %s`)", ui.OneLine(why), ref.WorkflowID)
			last = why
		}
	}
}

func (c *commands) printProposals(result contract.JobGroupResult) {
	listed := ui.NewTable("KEY", "PRIORITY", "NODE", "WHAT")
	shown := result.Proposals[:min(mostProposals, len(result.Proposals))]
	for _, proposal := range shown {
		listed.Add(ui.Text(proposal.DedupeKey), ui.Text(string(cmp.Or(proposal.Priority, "normal"))), ui.Text(proposal.Node), ui.Text(proposal.Summary))
	}
	if result.Outcome == contract.OutcomeCompleted || len(shown) > 0 {
		c.PrintTable(listed, "nothing to do")
	}
	fmt.Fprintf(c.Env.Stdout, "%s: %s", result.Outcome, result.Counts)
	if result.Detector != "" {
		fmt.Fprintf(c.Env.Stdout, ", by %s", result.Detector)
	}
	if result.Reason != "" {
		fmt.Fprintf(c.Env.Stdout, ": %s", c.Env.Own.Code(ui.OneLine(result.Reason)))
	}
	fmt.Fprintln(c.Env.Stdout)
	for _, line := range result.Explanations {
		c.Print("- %s", line)
	}
	all := result.Counts.Accepted + result.Counts.Batched
	switch {
	case len(shown) < len(result.Proposals):
		c.Print("the first %d of %d; see more with --output json", len(shown), all)
	case all > len(shown):
		c.Print("the first %d of %d; a dry run returns no more than %d", len(shown), all, contract.MaxDryRunProposals)
	}
}

// newRunName makes a sortable name for a dry run from the time.
func newRunName(now time.Time) string { return now.UTC().Format("20060102t150405.000") }
