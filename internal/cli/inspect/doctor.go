package inspect

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check server, control plane, workers, receivers",
		Description: `Every line has a finding and its remedy. The exit code is 1 if something is missing that Roundsman needs.

Examples:
  roundsman doctor
  roundsman doctor --address temporal.example.com:7233 --namespace maintenance
  roundsman doctor --output json | jq '.checks[] | select(.verdict != "ok")'`,
		Flags: ui.With(),
		Action: func(ctx *cli.Context) error {
			checks, err := c.examine(ctx)
			if err != nil {
				return err
			}
			if ui.WantsData(ctx) {
				err = c.Answer(ctx, doctor.ReportOf(checks))
			} else {
				c.printChecks(checks)
			}
			if err == nil && doctor.Failed(checks) {
				return ui.Silent(ui.ExitFailed)
			}
			return err
		},
	}
}

func (c *commands) examine(ctx *cli.Context) ([]doctor.Check, error) {
	settings, err := c.Temporal(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.Dial(ctx.Context, settings)
	if gone, unreachable := errors.AsType[*starter.UnreachableError](err); unreachable {
		remedy := explain.Remedy{Hint: "name a running one with --address host:port, or start one", Actions: []action.Action{action.New(action.StartDev, nil)}}
		check := doctor.Check{Name: "server", Verdict: doctor.VerdictFail, Found: "no Temporal server answers at " + settings.Address + " (" + gone.Why() + ")"}
		check.Help(remedy)
		return []doctor.Check{check}, nil
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	reached := doctor.Check{Name: "server", Verdict: doctor.VerdictOK, Found: settings.Address + " answers"}
	checks := append([]doctor.Check{reached}, doctor.Examine(ctx.Context, client)...)
	checks = append(checks, c.retentionCheck(ctx, client)...)
	return append(checks, c.clusterChecks(ctx)...), nil
}

func (c *commands) printChecks(checks []doctor.Check) {
	paints := map[doctor.Verdict]ui.Paint{doctor.VerdictOK: ui.Good, doctor.VerdictWarn: ui.Odd, doctor.VerdictFail: ui.Bad}
	listed := ui.NewTable("", "CHECK", "FOUND")
	for _, check := range checks {
		listed.Add(ui.Cell{Text: string(check.Verdict), Paint: paints[check.Verdict]}, ui.Textf("%s", check.Name), ui.Text(check.Line()))
		if check.Fix != "" {
			listed.Add(ui.Text(""), ui.Text(""), ui.Cell{Text: "→ " + c.Env.Own.Text(check.Fix), Paint: ui.Bold})
		}
	}
	c.PrintTable(listed, "")
}

func (c *commands) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Hidden: true, Usage: "print the version",
		Description: "Examples:\n  roundsman version\n  roundsman version --output json",
		Flags:       []cli.Flag{ui.OutputFlag()},
		Action: func(ctx *cli.Context) error {
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]string{"version": buildinfo.Version()})
			}
			fmt.Fprintln(c.Env.Stdout, buildinfo.Program())
			return nil
		},
	}
}
