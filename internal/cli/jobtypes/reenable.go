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

// ReEnable enables a job type, or one of its keys, that the retry budget disabled. The failures are forgotten.
func ReEnable(p *ui.Program, ctx *cli.Context, client *starter.Client, name, key string) error {
	if err := contract.ValidateHeldName(name); err != nil {
		return ui.Faulty(err)
	}
	result, err := client.Admission().ReEnable(ctx.Context, name, key)
	if err != nil {
		return err
	}
	return p.Done(ctx, result, "%s is enabled again", runs.WhatIsHeld(name, key))
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
