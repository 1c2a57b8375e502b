package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/rerun"
)

const (
	flagLabel = "label"
	flagAs    = "as"
)

func (c *commands) submit() *cli.Command {
	return &cli.Command{
		Name: "submit", ArgsUsage: "TYPE[:KEY]", Usage: "run given jobs of a job type, without detection",
		Description: `The jobs run in a group of their own, with the applied settings of the job type. -p are the params of the one job; a
VALUE that is JSON is read as JSON. -f reads one proposal as JSON on each line, or a list in JSON or YAML; its fields are
those of docs/handlers.md. The same --as again starts nothing. --dry-run checks all of it on the server, and lists the keys
that another run has or that are held back.

Examples:
  roundsman submit compress_logs:/var/log/big.log -p item=/var/log/big.log -w
  roundsman submit scrub -p path=/srv/a.bin -l worker=node-a
  find /data -size +1G | jq -Rc '{dedupe_key: ., params: {item: .}}' | roundsman submit compress_logs -f - --as ticket-4711`,
		Flags: ui.With(
			ui.FileFlag("read the proposals from `FILE`; - is standard input"), ui.ParamFlagOf(),
			&cli.StringFlag{Name: flagAs, Usage: "call the run `NAME`, which makes repeating it harmless"},
			&cli.GenericFlag{Name: flagLabel, Aliases: []string{"l"}, Value: &ui.ParamFlag{}, Usage: "only on a worker with label `K=V`; worker=ID is one worker"},
			ui.IgnoreWindowFlag(),
			ui.WaitFlag(), ui.DryRunFlag(),
		),
		Action: submitter{c.Program}.submit,
	}
}

// submit checks all that needs no server before it sends a request.
func (s submitter) submit(ctx *cli.Context) error {
	of, err := ref.Parse(ctx.Args().First())
	if err != nil || of.Name == "" || of.AtRun || of.Item != "" || of.Kind != "" && of.Kind != ref.JobType {
		return ui.Usagef("%s is no job type or key: write TYPE or TYPE:KEY, see %s --help", ctx.Args().First(), ui.HelpName(ctx))
	}
	if err := checkSubmit(ctx, of); err != nil {
		return err
	}
	proposals, err := s.proposals(ctx, of)
	if err != nil {
		return ui.Faulty(err)
	}
	return s.Connected(func(ctx *cli.Context, client *starter.Client) error { return s.send(ctx, client, of.Name, proposals) })(ctx)
}

func checkSubmit(ctx *cli.Context, of ref.Ref) error {
	if err := jobtype.ValidateName(of.Name); err != nil {
		return ui.Faulty(err)
	}
	if ctx.IsSet(flagAs) && ctx.String(flagAs) == "" {
		return ui.Usagef("--as is empty: leave it out for a new one")
	}
	if !ctx.IsSet(ui.FlagFile) {
		return nil
	}
	const single = "%s is for a single job: with --file write it into the proposals"
	if of.HasKey {
		return ui.Usagef(single, of.Text)
	}
	for _, flag := range []string{ui.FlagParam, flagLabel} {
		if ctx.IsSet(flag) {
			return ui.Usagef(single, "--"+flag)
		}
	}
	return nil
}

type submitter struct{ *ui.Program }

func (s submitter) send(ctx *cli.Context, client *starter.Client, name string, proposals []jobtype.Proposal) error {
	known, err := jobtypes.Of(client).Get(ctx.Context, name)
	if err != nil {
		return err
	}
	if err := checkJobParams(ctx.Context, s.Program, client, known.Spec, proposals); err != nil {
		return err
	}
	submission := contract.Submission{ID: ctx.String(flagAs), By: s.Operator(), IgnoreWindow: ctx.Bool(ui.FlagIgnoreWindow), Proposals: proposals}
	if submission.ID == "" {
		submission.ID = newSubmissionID(s.Env.Now())
	}
	if ctx.Bool(ui.FlagDryRun) {
		plan, err := rerun.Of(client).Submission(ctx.Context, known, submission)
		if err != nil {
			return faulty(err)
		}
		return showPlan(s.Program, ctx, preview{DryRun: true, Plan: plan}, titleRuns)
	}
	if w := known.Window; w != nil && !w.Open && !submission.IgnoreWindow {
		s.Complain("note: the window of %s is %s; the jobs wait for it (--ignore-window does not)", known.Name, WindowState(w, s.Env.Now()).Text)
	}
	submitted, err := jobtypes.Of(client).Submit(ctx.Context, known, submission)
	if _, wrong := errors.AsType[*jobtypes.SubmissionError](err); wrong {
		return ui.Faulty(err)
	}
	if err != nil {
		return err
	}
	return s.report(ctx, client, known, submitted)
}

// newSubmissionID sorts by time. Its random end distinguishes submissions of the same moment.
func newSubmissionID(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // Read never fails.
	return now.UTC().Format("20060102t150405") + "-" + hex.EncodeToString(random[:])
}

func (s submitter) report(ctx *cli.Context, client *starter.Client, known jobtypes.JobType, submitted jobtypes.Submitted) error {
	if known.Paused && !submitted.Already {
		s.Complain("note: %s is paused%s; this submission is an exception", known.Name, PauseOf(known))
	}
	ref := starter.RunRef{WorkflowID: submitted.WorkflowID}
	if !ctx.Bool(ui.FlagWait) {
		how := "submitted " + ui.Plural(submitted.Jobs, "job") + ":"
		if submitted.Already {
			how = "already submitted, nothing was started:"
		}
		return s.Done(ctx, struct {
			JobType string `json:"job_type"`
			jobtypes.Submitted
		}{known.Name, submitted}, "%s %s (follow it with `roundsman watch %s`)", how, submitted.WorkflowID, submitted.WorkflowID)
	}
	// Standard error has the id before the end and after a Ctrl-C.
	if submitted.Already {
		s.Complain("note: already submitted, nothing was started; this is %s", submitted.WorkflowID)
	} else {
		s.Complain("submitted %s: %s", ui.Plural(submitted.Jobs, "job"), submitted.WorkflowID)
	}
	return ui.GoesOn(ref, s.await(ctx, client, ref))
}

func (s submitter) await(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	if ui.WantsData(ctx) {
		return WaitJSON(s.Program, ctx, client, ref)
	}
	ended, err := client.Runs().Await(ctx.Context, ref)
	if err != nil {
		return err
	}
	for _, line := range progress.Summary(ended, s.Env.Own) {
		fmt.Fprintln(s.Env.Stdout, line)
	}
	return ui.Silent(ui.ExitOf(ended.Outcome, ended.Counts[contract.JobWarning]))
}

// checkJobParams checks the input of the handlers, with this binary's handler or one from the registry.
func checkJobParams(ctx context.Context, p *ui.Program, client *starter.Client, jobType contract.JobTypeSpec, proposals []jobtype.Proposal) error {
	if jobType.DAG != nil {
		return nil // The submission checks them.
	}
	handler, err := handlerOf(ctx, p, client, jobType.Handler)
	if err != nil {
		return err
	}
	faults, err := config.CheckProposals(handler, jobType.Params, proposals)
	if err == nil && len(faults) > 0 {
		err = ui.Faulty(&jobtypes.SubmissionError{JobType: jobType.Name, Faults: faults})
	}
	return err
}

// CheckParams checks params of a whole run, as [checkJobParams] does for jobs.
func CheckParams(ctx context.Context, p *ui.Program, client *starter.Client, handler string, params json.RawMessage) error {
	found, err := handlerOf(ctx, p, client, handler)
	if err != nil {
		return err
	}
	check, err := config.NewParamsCheck(found)
	if err != nil {
		return err
	}
	if err := check.Check(params); err != nil {
		return ui.Faulty(fmt.Errorf("--param: %w", err))
	}
	return nil
}

func handlerOf(ctx context.Context, p *ui.Program, client *starter.Client, name string) (jobtype.Descriptor, error) {
	options, err := p.LoadOptions()
	if err != nil {
		return jobtype.Descriptor{}, err
	}
	known := options.Handlers
	if !ui.Describes(known, name) {
		if known, err = client.Workers().Handlers(ctx); err != nil {
			return jobtype.Descriptor{}, fmt.Errorf("handler %s is not in this binary, and the workers cannot be read: %w", name, err)
		}
	}
	for _, descriptor := range known {
		if descriptor.Name == name {
			return descriptor, nil
		}
	}
	return jobtype.Descriptor{}, ui.Faulty(fmt.Errorf("handler %s is neither in this binary nor on a worker, so params cannot be checked: start a worker with it", name))
}
