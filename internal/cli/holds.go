package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// typeAndKey reads the two arguments of a command about a dedupe key.
func typeAndKey(ctx *cli.Context) (jobType, key string, err error) {
	if jobType, err = oneName(ctx); err != nil {
		return "", "", err
	}
	if key = ctx.Args().Get(1); key == "" || len(key) > jobtype.MaxDedupeKeyBytes {
		return "", "", usagef("KEY %q: a dedupe key has 1 to %d bytes; `roundsman jobs list RUN` shows them", shorten(key, 40), jobtype.MaxDedupeKeyBytes)
	}
	return jobType, key, nil
}

func (c *commands) jobTypesReEnable() *cli.Command {
	return &cli.Command{
		Name: "re-enable", ArgsUsage: "NAME", Usage: "lift what the retry budget has disabled: the job type, or one of its keys",
		Description: `The failures that led to it are forgotten: the count starts anew. ` + "`roundsman jobs disabled`" + ` lists what is
disabled, ` + "`roundsman explain NAME`" + ` says why. A job type with enabled: false is another thing: see apply.

Examples:
  roundsman jobtypes re-enable scrub
  roundsman jobtypes re-enable scrub --key /srv/a.bin`,
		Flags: with(&cli.StringFlag{Name: flagKey, Usage: "only the dedupe key `KEY`, not the job type"}),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := oneName(ctx)
			if err != nil {
				return err
			}
			if ctx.IsSet(flagKey) && ctx.String(flagKey) == "" {
				return usagef("--key is empty: give a dedupe key, or leave it out to re-enable the job type")
			}
			result, err := client.ReEnable(ctx.Context, name, ctx.String(flagKey))
			if err != nil {
				return err
			}
			return c.done(ctx, result, "%s is enabled again", whatIsHeld(name, ctx.String(flagKey)))
		}),
	}
}

func whatIsHeld(jobType, key string) string {
	if key == "" {
		return "job type " + jobType
	}
	return fmt.Sprintf("key %s of %s", shorten(key, 80), jobType)
}

func (c *commands) jobsForgive() *cli.Command {
	return &cli.Command{
		Name: "forgive", ArgsUsage: "TYPE KEY", Usage: "forget what is held against a dedupe key: failures, disabled, marked as done",
		Description: `The next detection that proposes the key gets it, and the count of the retry budget starts anew.

Examples:
  roundsman jobs forgive scrub /srv/a.bin
  roundsman jobs disabled scrub --output json | jq -r '.holds[].dedupe_key // empty' | xargs -d '\n' -n1 roundsman jobs forgive scrub`,
		Flags: with(),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			jobType, key, err := typeAndKey(ctx)
			if err != nil {
				return err
			}
			result, err := client.Forgive(ctx.Context, jobType, key)
			if err != nil {
				return err
			}
			was := plural(result.Failures, "failure") + " forgotten"
			if result.Before != nil {
				was = "it was " + result.Before.Detail
			}
			return c.done(ctx, result, "%s is forgiven: %s", whatIsHeld(jobType, key), was)
		}),
	}
}

func (c *commands) jobsMarkDone() *cli.Command {
	return &cli.Command{
		Name: "mark-done", ArgsUsage: "TYPE KEY", Usage: "say that the work of a dedupe key is done: it is left out for a time",
		Description: `Proposals with the key are left out until the time is over or the key is forgiven; its failures are
forgotten. A job of it that waits in a running group ends as canceled; one that runs goes on. It works
for every applied job type, with or without a retry budget. Marking again replaces the time.

Examples:
  roundsman jobs mark-done scrub /srv/a.bin
  roundsman jobs mark-done rebalance volume-42 --for 7d`,
		Flags: with(&cli.StringFlag{Name: "for", Usage: "leave it out for `DURATION`, 1s to 365d", Value: "24h"}),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			jobType, key, err := typeAndKey(ctx)
			if err != nil {
				return err
			}
			lasts, err := parseDuration(ctx.String("for"))
			if err != nil || lasts < time.Second || lasts > 365*24*time.Hour {
				return usagef("--for %s: write 1s to 365d, like 24h or 7d", ctx.String("for"))
			}
			result, err := client.MarkDone(ctx.Context, jobType, key, lasts)
			if err != nil {
				return err
			}
			until := c.env.Now().Add(lasts)
			if result.After != nil {
				until = result.After.Until
			}
			return c.done(ctx, result, "%s is left out until %s", whatIsHeld(jobType, key), stamp(until))
		}),
	}
}

func (c *commands) jobsDisabled() *cli.Command {
	return &cli.Command{
		Name: "disabled", ArgsUsage: "[TYPE]", Usage: "list what is held back: disabled by the retry budget, or marked as done",
		Description: `A row without a KEY is the job type as a whole: its groups end as skipped. Proposals with a listed key
are left out. Both pass by time, or with jobtypes re-enable and jobs forgive.

Examples:
  roundsman jobs disabled
  roundsman jobs disabled scrub --output json | jq -r '.holds[] | [.dedupe_key, .until, .last_error] | @tsv'`,
		Flags: with(&cli.IntFlag{Name: flagLimit, Usage: "at most `N` rows", Value: 200}),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(flagLimit); limit < 1 {
				return usagef("--limit %d: must be at least 1", limit)
			}
			return nil
		},
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			held, err := client.Holds(ctx.Context, contract.HoldsInput{JobType: ctx.Args().First(), Limit: ctx.Int(flagLimit)})
			if err != nil {
				return err
			}
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, held)
			}
			c.printHolds(held)
			return nil
		}),
	}
}

func (c *commands) printHolds(held contract.HoldsResult) {
	now, listed := c.env.Now(), newTable("JOB TYPE", "KEY", "WHY", "SINCE", "UNTIL", "LAST ERROR")
	for _, hold := range held.Holds {
		listed.add(text(hold.JobType), text(shorten(cmp.Or(hold.DedupeKey, "(all)"), 60)), holdCell(hold), text(ago(hold.Since, now)),
			textf("%s (%s)", stamp(hold.Until), ago(hold.Until, now)), text(shorten(hold.LastError, 60)))
	}
	listed.write(c.env.Stdout, c.env.colors(), "nothing is held back")
	if held.Total > len(held.Holds) {
		fmt.Fprintf(c.env.Stdout, "%d of %d; see more with --limit\n", len(held.Holds), held.Total)
	}
}

func holdCell(hold contract.AdmissionHold) cell {
	if hold.Code == contract.HoldMarkedDone {
		return cell{text: "marked as done by " + cmp.Or(hold.By, "an operator"), paint: odd}
	}
	return cell{text: "retry budget", paint: bad}
}

// budgetText says in one line how much may fail.
func budgetText(budget *contract.RetryBudget) string {
	if budget == nil {
		return ""
	}
	var parts []string
	for _, rule := range []struct {
		of string
		is *contract.RetryBudgetRule
	}{{"a key", budget.PerKey}, {"the job type", budget.PerType}} {
		if rule.is == nil {
			continue
		}
		var when []string
		if rule.is.Count > 0 {
			when = append(when, fmt.Sprintf("%s within %s", plural(rule.is.Count, "failure"), rule.is.Window))
		}
		if rule.is.HardTimeout > 0 {
			when = append(when, fmt.Sprintf("failing for %s", rule.is.HardTimeout))
		}
		parts = append(parts, fmt.Sprintf("%s is disabled for %s after %s", rule.of, rule.is.DisableFor, strings.Join(when, " or ")))
	}
	return strings.Join(parts, "; ")
}

// showHeldBack lists the proposals that a run left out.
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
	listed := newTable("LEFT OUT", "UNTIL", "WHY")
	for _, hold := range held {
		listed.add(text(shorten(hold.DedupeKey, 60)), text(stamp(hold.Until)), text(shorten(hold.Detail, 100)))
	}
	fmt.Fprintln(c.env.Stdout)
	listed.write(c.env.Stdout, c.env.colors(), "")
}
