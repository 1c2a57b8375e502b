package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/buildinfo"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check the server, the namespace, the control plane and the workers",
		Description: `Every line says what was found and what to do about it. The exit code is 1 if something is
missing that Roundsman needs.

Examples:
  roundsman doctor
  roundsman doctor --address temporal.example.com:7233 --namespace maintenance
  roundsman doctor --output json | jq '.checks[] | select(.verdict != "ok")'`,
		Flags: with(),
		Action: func(ctx *cli.Context) error {
			checks, err := c.examine(ctx)
			if err != nil {
				return err
			}
			if wantsJSON(ctx) {
				err = printJSON(c.env.Stdout, map[string]any{"ok": !starter.Failed(checks), "checks": checks})
			} else {
				c.printChecks(checks)
			}
			if err == nil && starter.Failed(checks) {
				return silent(ExitFailed)
			}
			return err
		},
	}
}

func (c *commands) examine(ctx *cli.Context) ([]starter.Check, error) {
	settings, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.dial(ctx.Context, settings)
	if gone, unreachable := errors.AsType[*starter.UnreachableError](err); unreachable {
		return []starter.Check{{
			Name: "server", Verdict: starter.VerdictFail, Found: "no Temporal server answers at " + settings.Address + " (" + gone.Why() + ")",
			Fix: "start one with `roundsman dev`, or name a running one with --address host:port",
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	reached := starter.Check{Name: "server", Verdict: starter.VerdictOK, Found: settings.Address + " answers"}
	return append([]starter.Check{reached}, client.Doctor(ctx.Context)...), nil
}

func (c *commands) printChecks(checks []starter.Check) {
	paints := map[starter.Verdict]paint{starter.VerdictOK: good, starter.VerdictWarn: odd, starter.VerdictFail: bad}
	listed := newTable("", "CHECK", "FOUND")
	for _, check := range checks {
		listed.add(cell{text: string(check.Verdict), paint: paints[check.Verdict]}, textf("%s", check.Name), textf("%s", check.Found))
		if check.Fix != "" {
			listed.add(text(""), text(""), cell{text: "→ " + check.Fix, paint: bold})
		}
	}
	listed.write(c.env.Stdout, c.env.colors(), "")
}

func (c *commands) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Description: "Examples:\n  roundsman version\n  roundsman version --output json",
		Flags:       []cli.Flag{outputFlag()},
		Action: func(ctx *cli.Context) error {
			if wantsJSON(ctx) {
				return printJSON(c.env.Stdout, map[string]string{"version": buildinfo.Version()})
			}
			fmt.Fprintln(c.env.Stdout, program, buildinfo.Version())
			return nil
		},
	}
}
