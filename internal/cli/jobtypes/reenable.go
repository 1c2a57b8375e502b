package jobtypes

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesReEnable() *cli.Command {
	return &cli.Command{
		Name: "re-enable", ArgsUsage: "NAME", Usage: "enable a job type, or a key, that its retry budget disabled",
		Description: `The failures that led to it are forgotten: the count starts again. ` + "`roundsman holds`" + ` lists what is
disabled, ` + "`roundsman explain NAME`" + ` says why. A job type with enabled: false is another thing: see apply.

Examples:
  roundsman resume scrub --kind budget
  roundsman resume scrub:/srv/a.bin`,
		Flags: ui.With(&cli.StringFlag{Name: runs.FlagKey, Usage: "only the dedupe key `KEY`, not the job type"}),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := ui.OneHeldName(ctx)
			if err != nil {
				return err
			}
			if ctx.IsSet(runs.FlagKey) && ctx.String(runs.FlagKey) == "" {
				return ui.Usagef("--key is empty: give a dedupe key, or leave it out to re-enable the job type")
			}
			result, err := client.Admission().ReEnable(ctx.Context, name, ctx.String(runs.FlagKey))
			if err != nil {
				return err
			}
			return c.Done(ctx, result, "%s is enabled again", runs.WhatIsHeld(name, ctx.String(runs.FlagKey)))
		}),
	}
}

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
			when = append(when, fmt.Sprintf("%s within %s", ui.Plural(rule.is.Count, "failure"), rule.is.Window))
		}
		if rule.is.HardTimeout > 0 {
			when = append(when, fmt.Sprintf("failing for %s", rule.is.HardTimeout))
		}
		parts = append(parts, fmt.Sprintf("%s is disabled for %s after %s", rule.of, rule.is.DisableFor, strings.Join(when, " or ")))
	}
	return strings.Join(parts, "; ")
}
