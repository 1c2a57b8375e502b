package runs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func typeAndKey(ctx *cli.Context) (jobType, key string, err error) {
	if jobType, err = ui.OneHeldName(ctx); err != nil {
		return "", "", err
	}
	if key = ctx.Args().Get(1); key == "" || len(key) > jobtype.MaxDedupeKeyBytes {
		return "", "", ui.Usagef("KEY %q: a dedupe key has 1 to %d bytes; `roundsman jobs RUN` shows them", ui.Shorten(key, 40), jobtype.MaxDedupeKeyBytes)
	}
	return jobType, key, nil
}

// WhatIsHeld names a job type, one of its keys, or a task of a DAG.
func WhatIsHeld(jobType, key string) string {
	if _, task := contract.DAGOfTasks(jobType); key == "" || task {
		return contract.HeldName(jobType, key)
	}
	return fmt.Sprintf("key %s of %s", ui.Shorten(key, 80), jobType)
}

func (c *commands) jobsForgive() *cli.Command {
	return &cli.Command{
		Name: "forgive", ArgsUsage: "TYPE KEY", Usage: "forget the failures and holds of a dedupe key",
		Description: `The next detection that proposes the key gets it, and the count of the retry budget starts again.

Examples:
  roundsman resume scrub:/srv/a.bin
  roundsman holds scrub -o name | roundsman resume -`,
		Flags: ui.With(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			jobType, key, err := typeAndKey(ctx)
			if err != nil {
				return err
			}
			result, err := client.Admission().Forgive(ctx.Context, jobType, key)
			if err != nil {
				return err
			}
			was := ui.Plural(result.Failures, "failure") + " forgotten"
			if result.Before != nil {
				was = "it was " + result.Before.String()
			}
			return c.Done(ctx, result, "%s is forgiven: %s", WhatIsHeld(jobType, key), was)
		}),
	}
}

func (c *commands) jobsMarkDone() *cli.Command {
	return &cli.Command{
		Name: "mark-done", ArgsUsage: "TYPE KEY", Usage: "mark the work of a dedupe key as done: it is left out for a time",
		Description: `Proposals with the key are left out until the time is over or the key is forgiven; its failures are
forgotten. A job of it that waits in a running group ends as canceled; one that runs continues. It works
for every applied job type, with or without a retry budget. Marking again replaces the time.

Examples:
  roundsman skip scrub:/srv/a.bin
  roundsman skip rebalance:volume-42 --for 7d`,
		Flags: ui.With(&cli.StringFlag{Name: "for", Usage: "leave it out for `DURATION`, 1s to 365d", Value: "24h"}),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			jobType, key, err := typeAndKey(ctx)
			if err != nil {
				return err
			}
			lasts, err := ui.ParseDuration(ctx.String("for"))
			if err != nil || lasts < time.Second || lasts > 365*24*time.Hour {
				return ui.Usagef("--for %s: write 1s to 365d, like 24h or 7d", ctx.String("for"))
			}
			result, err := client.Admission().MarkDone(ctx.Context, jobType, key, lasts)
			if err != nil {
				return err
			}
			until := c.Env.Now().Add(lasts)
			if result.After != nil {
				until = result.After.Until
			}
			return c.Done(ctx, result, "%s is left out until %s", WhatIsHeld(jobType, key), ui.Stamp(until))
		}),
	}
}

func (c *commands) jobsDisabled() *cli.Command {
	return &cli.Command{
		Name: "disabled", ArgsUsage: "[TYPE]", Usage: "list holds: disabled by the retry budget, or marked as done",
		Description: `A row without a KEY is the job type as a whole: its groups end as skipped. Proposals with a listed key
are left out. Both pass by time, or with jobtypes re-enable and jobs forgive.

Examples:
  roundsman holds
  roundsman holds scrub`,
		Flags: ui.ListFlags(&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` rows", Value: 200}, holdSorting().Flag()),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(ui.FlagLimit); limit < 1 {
				return ui.Usagef("--limit %d: must be at least 1", limit)
			}
			return nil
		},
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			held, err := client.Admission().Holds(ctx.Context, contract.HoldsInput{JobType: ctx.Args().First(), Limit: ctx.Int(ui.FlagLimit)})
			if err != nil {
				return err
			}
			holdSorting().Sort(ctx, held.Holds)
			if ui.WantsData(ctx) {
				return c.Answer(ctx, held, ui.Names(held.Holds, nameOfHold)...)
			}
			c.printHolds(held)
			return nil
		}),
	}
}

// nameOfHold is the key, or a task with its DAG, because task ids are unique only within a DAG.
func nameOfHold(hold contract.AdmissionHold) string {
	if _, ofTask := contract.DAGOfTasks(hold.JobType); ofTask {
		return hold.JobType + ":" + hold.DedupeKey
	}
	return cmp.Or(hold.DedupeKey, hold.JobType)
}

func holdSorting() ui.Sorting[contract.AdmissionHold] {
	type hold = contract.AdmissionHold
	return ui.Sorting[hold]{
		ui.By("job-type", func(h hold) string { return h.JobType }),
		ui.By("key", func(h hold) string { return h.DedupeKey }),
		ui.By("why", func(h hold) string { return h.Code }),
		ui.ByTime("since", func(h hold) time.Time { return h.Since }),
		ui.ByTime("until", func(h hold) time.Time { return h.Until }),
	}
}

func (c *commands) printHolds(held contract.HoldsResult) {
	now, listed := c.Env.Now(), ui.NewTable("JOB TYPE", "KEY", "WHY", "SINCE", "UNTIL", "LAST ERROR")
	for _, hold := range held.Holds {
		listed.Add(ui.Text(hold.JobType), ui.Text(cmp.Or(hold.DedupeKey, "(all)")), holdCell(hold), ui.Text(ui.Ago(hold.Since, now)),
			ui.Textf("%s (%s)", ui.Stamp(hold.Until), ui.Ago(hold.Until, now)), ui.Cause(hold.LastError))
	}
	c.PrintTable(listed, "nothing is held back")
	c.More(len(held.Holds), held.Total)
}

func holdCell(hold contract.AdmissionHold) ui.Cell {
	if hold.Code == contract.HoldMarkedDone {
		return ui.Cell{Text: "marked as done by " + cmp.Or(hold.By, "an operator"), Paint: ui.Odd}
	}
	return ui.Cell{Text: "retry budget", Paint: ui.Bad}
}

func (c *commands) showHeldBack(snapshot starter.Snapshot) {
	var held []contract.AdmissionHold
	switch {
	case snapshot.Result != nil:
		held = snapshot.Result.HeldBack
	case snapshot.Group != nil:
		held = snapshot.Group.HeldBack
	}
	if len(held) == 0 {
		return
	}
	listed := ui.NewTable("LEFT OUT", "UNTIL", "WHY")
	for _, hold := range held {
		listed.Add(ui.Text(hold.DedupeKey), ui.Text(ui.Stamp(hold.Until)), ui.Text(hold.String()))
	}
	fmt.Fprintln(c.Env.Stdout)
	c.PrintTable(listed, "")
}
