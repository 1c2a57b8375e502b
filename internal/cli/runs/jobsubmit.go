package runs

import (
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
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/rerun"
)

// Flags of a single proposal, which --file excludes.
const (
	flagParams    = "params"
	flagSummary   = "summary"
	flagDetail    = "detail"
	FlagKey       = "key"
	flagPriority  = "priority"
	flagNode      = "node"
	flagLabel     = "label"
	flagResource  = "resource"
	flagExclusive = "exclusive"
	flagShared    = "shared"
	flagNotBefore = "not-before"
	flagExpiresAt = "expires-at"
	flagEstimated = "estimated-runtime"
	flagDAG       = "dag"
	flagFile      = "file"
	flagID        = "id"
)

func (c *commands) jobsSubmit() *cli.Command {
	return &cli.Command{
		Name: "submit", Usage: "run jobs of a job type now, without a detection",
		Description: `The jobs run in a group of their own, group/<job type>-adhoc-<id>, with the applied settings of
the job type. They have the same lane, dedupe keys, objects, pools, placement, limits and retries as
detected jobs. All commands about runs and jobs work on the group. It takes its turn in an exclusive
lane, after the first --not-before. At the end of its maintenance window it returns all grants and
continues in the next one, for 30 days at most; ` + "`roundsman explain RUN`" + ` shows its wait. Without an
exclusive lane it runs next to the group of the Schedule, each with its own global_execution_concurrency.
It does not count as a run of the job type: last success, sequence and the record of past runs stay
those of the Schedule. A paused or disabled job type takes jobs too.

--params, and the params of a file's proposals, overlay those of the job type. The handler's schema
checks them. --file reads one proposal as JSON on each line (as a detection prints them with
format: json), or a list in JSON or YAML. All of it is one group, or nothing is submitted.

The same --id again starts nothing; with other jobs it is refused. Exit code: 0 once the group was
started; with --wait or --watch only if every job completed. A job whose --key another run holds does
not run: the group ends as skipped (or partial) and names that run.

Examples:
  roundsman jobs submit --type compress_logs --params '{"item": "/var/log/app/big.log"}' --key /var/log/app/big.log --wait
  roundsman jobs submit --type scrub --params @file.json --priority critical --node node-a --watch
  roundsman jobs submit --type rebalance --exclusive volume/42 --resource db=2 --not-before 20m
  find /data -size +1G | jq -Rc '{dedupe_key: ., params: {item: .}}' | roundsman jobs submit --type compress_logs --file - --id ticket-4711`,
		Flags: ui.With(
			&cli.StringFlag{Name: "type", Aliases: []string{"t"}, Usage: "the job type `NAME`; it must be applied (required)"},
			&cli.StringFlag{Name: flagParams, Usage: "params of the job: an object as `JSON`, @FILE, or - for standard input"},
			&cli.StringFlag{Name: flagFile, Usage: "submit the proposals of `FILE` (- for standard input) as one group"},
			&cli.StringFlag{Name: flagID, Usage: "`ID` of the submission, which makes repeating it harmless (default: a new one)"},
			&cli.StringFlag{Name: flagSummary, Usage: "one line `TEXT` for operators"},
			&cli.StringFlag{Name: flagDetail, Usage: "more `TEXT` for operators"},
			&cli.StringFlag{Name: FlagKey, Usage: "dedupe key `KEY`: the job does not run while another with this key is active (default: none)"},
			&cli.StringFlag{Name: flagPriority, Usage: "`PRIORITY` within the group and in pools: low, normal, high or critical"},
			&cli.StringFlag{Name: flagNode, Usage: "only on the worker `ID`"},
			pairsFlag(flagLabel, "only on a worker with label `K=V`; may be given several times"),
			pairsFlag(flagResource, "take `POOL=N` of a pool while the job runs; may be given several times"),
			&cli.GenericFlag{Name: flagExclusive, Value: &ui.TextsFlag{}, Usage: "the `OBJECT` is the job's alone while it runs; may be given several times"},
			&cli.GenericFlag{Name: flagShared, Value: &ui.TextsFlag{}, Usage: "the `OBJECT` is held together with others while the job runs, but with none exclusively; may be given several times"},
			&cli.StringFlag{Name: flagNotBefore, Usage: "do not start before `TIME` (RFC 3339, or a duration from now)"},
			&cli.StringFlag{Name: flagExpiresAt, Usage: "do not start from `TIME` on (RFC 3339, or a duration from now)"},
			&cli.StringFlag{Name: flagEstimated, Usage: "raise the job's timeout to `DURATION`, at most 8h"},
			&cli.StringFlag{Name: flagDAG, Usage: "the job runs the DAG in `FILE`; the handler does not execute it"},
			&cli.BoolFlag{Name: ui.FlagIgnoreWindow, Usage: "run although the maintenance window is closed"},
			&cli.BoolFlag{Name: ui.FlagWait, Usage: "wait until the group has ended"},
			&cli.BoolFlag{Name: ui.FlagWatch, Aliases: []string{"w"}, Usage: "show the group while it runs, and wait until it has ended"},
			ui.DryRunFlag(), ui.AllowUnregisteredFlag(),
		),
		Before: checkSubmit,
		Action: submitter{c.Program}.send,
	}
}

func singleFlags() []string {
	return []string{
		flagParams, flagSummary, flagDetail, FlagKey, flagPriority, flagNode, flagLabel, flagResource, flagExclusive, flagShared,
		flagNotBefore, flagExpiresAt, flagEstimated, flagDAG,
	}
}

func checkSubmit(ctx *cli.Context) error {
	if !ctx.IsSet("type") {
		return ui.Usagef("--type NAME is missing: name the job type (see `roundsman jobtypes`)")
	}
	if err := jobtype.ValidateName(ctx.String("type")); err != nil {
		return ui.Faulty(fmt.Errorf("--type: %w", err))
	}
	if ctx.Bool(ui.FlagWait) && ctx.Bool(ui.FlagWatch) {
		return ui.Usagef("--wait and --watch exclude each other")
	}
	if ctx.IsSet(flagFile) {
		for _, name := range singleFlags() {
			if ctx.IsSet(name) {
				return ui.Usagef("--%s is for a single job: with --file write it into the proposals", name)
			}
		}
	}
	if ctx.IsSet(flagID) && ctx.String(flagID) == "" {
		return ui.Usagef("--id is empty: leave it out for a new one")
	}
	return nil
}

type submitter struct{ *ui.Program }

// send checks all that needs no server before it sends a request.
func (s submitter) send(ctx *cli.Context) error {
	proposals, err := s.proposals(ctx)
	if err != nil {
		return ui.Faulty(err)
	}
	return s.Connected(func(ctx *cli.Context, client *starter.Client) error {
		known, err := jobtypes.Of(client).Get(ctx.Context, ctx.String("type"))
		if err != nil {
			return err
		}
		if err := checkJobParams(s.Program, ctx, client, known.Spec, proposals); err != nil {
			return err
		}
		submission := contract.Submission{ID: ctx.String(flagID), By: s.Operator(), IgnoreWindow: ctx.Bool(ui.FlagIgnoreWindow), Proposals: proposals}
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
	})(ctx)
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
	waits := ctx.Bool(ui.FlagWait) || ctx.Bool(ui.FlagWatch)
	if !waits {
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
	switch {
	case ctx.Bool(ui.FlagWatch):
		return Watch(s.Program, ctx, client, starter.DefaultWatchInterval, ref)
	case ui.WantsData(ctx):
		return WaitJSON(s.Program, ctx, client, ref)
	}
	return s.waitSummary(ctx, client, ref)
}

func (s submitter) waitSummary(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	ended, err := client.Runs().Await(ctx.Context, ref)
	if err != nil {
		return err
	}
	for _, line := range progress.Summary(ended) {
		fmt.Fprintln(s.Env.Stdout, line)
	}
	return ui.Silent(ui.ExitOf(ended.Outcome, ended.Counts[contract.JobWarning]))
}

// checkJobParams checks the input of the handlers, with this binary's handler or one from the registry.
func checkJobParams(p *ui.Program, ctx *cli.Context, client *starter.Client, jobType contract.JobTypeSpec, proposals []jobtype.Proposal) error {
	if jobType.DAG != nil {
		return nil // The submission checks them.
	}
	handler, err := handlerOf(p, ctx, client, jobType.Handler)
	if err != nil || handler == nil {
		return err
	}
	faults, err := config.CheckProposals(*handler, jobType.Params, proposals)
	if err == nil && len(faults) > 0 {
		err = ui.Faulty(&jobtypes.SubmissionError{JobType: jobType.Name, Faults: faults})
	}
	return err
}

// CheckParams checks params of a whole run, as [checkJobParams] does for jobs.
func CheckParams(p *ui.Program, ctx *cli.Context, client *starter.Client, handler string, params json.RawMessage) error {
	found, err := handlerOf(p, ctx, client, handler)
	if err != nil || found == nil {
		return err
	}
	check, err := config.NewParamsCheck(*found)
	if err != nil {
		return err
	}
	if err := check.Check(params); err != nil {
		return ui.Faulty(fmt.Errorf("--param: %w", err))
	}
	return nil
}

// handlerOf returns the handler, or nil if it is unregistered and the flag allows that.
func handlerOf(p *ui.Program, ctx *cli.Context, client *starter.Client, name string) (*jobtype.Descriptor, error) {
	options, err := p.LoadOptions()
	if err != nil {
		return nil, err
	}
	known := options.Handlers
	if !ui.Describes(known, name) {
		registered, err := client.Workers().Handlers(ctx.Context)
		if err != nil && !ctx.Bool(ui.FlagAllowUnregistered) {
			return nil, fmt.Errorf("handler %s is not in this binary, and the workers cannot be read: %w", name, err)
		}
		known = registered
	}
	for i := range known {
		if known[i].Name == name {
			return &known[i], nil
		}
	}
	if ctx.Bool(ui.FlagAllowUnregistered) {
		return nil, nil
	}
	return nil, ui.Faulty(fmt.Errorf("handler %s is neither in this binary nor on a worker, so params cannot be checked: start a worker with it, or pass --%s", name, ui.FlagAllowUnregistered))
}
