package draft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

const (
	flagLabel    = "label"
	flagTimezone = "timezone"
	flagSystem   = "system"

	// maxFile bounds a crontab.
	maxFile = 1 << 20
)

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{{
		Name: "import", ArgsUsage: "crontab|timers PATH", Usage: "draft job types from a crontab or systemd timers",
		Description: `It prints a configuration with a job type for each line of a crontab, or for each timer of a directory with its service and
drop-ins. Nothing is applied. A comment begins with TODO for each thing without a translation. The exit code is 1 if a line
or timer has no translation at all.

PATH - reads a crontab from standard input. In /etc/crontab and /etc/cron.d the sixth field is the user.
What weed workers can do is imported by roundsman jobtypes import.

Examples:
  crontab -l | roundsman import crontab - > crontab.yaml
  roundsman import crontab /etc/crontab --label role=web --timezone Europe/Berlin
  roundsman import timers /etc/systemd/system > timers.yaml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagLabel, Aliases: []string{"l"}, Usage: "run on workers with the label `KEY=VALUE` (default: host=<name of this machine>)"},
			&cli.StringFlag{Name: flagTimezone, Usage: "time zone `NAME` of the times (default: that of this machine)"},
			&cli.BoolFlag{Name: flagSystem, Usage: "the sixth field of a crontab is the user (default: for files in /etc)"},
		},
		Action: func(ctx *cli.Context) error {
			kind, from := ctx.Args().Get(0), ctx.Args().Get(1)
			zone, label, err := places(ctx)
			if err != nil {
				return err
			}
			var entries []entry
			var notes []string
			switch kind {
			case "crontab":
				entries, notes, err = c.crontab(ctx, from, zone)
			case "timers":
				entries, notes, err = timers(from, zone)
			default:
				err = ui.Usagef("import %s is not known: use crontab FILE or timers DIR", kind)
			}
			if err != nil {
				return err
			}
			return c.print(entries, notes, label, kind+" "+from)
		},
	}}
}

func (c *commands) crontab(ctx *cli.Context, name, zone string) ([]entry, []string, error) {
	data, err := c.read(name)
	if err != nil {
		return nil, nil, err
	}
	system := ctx.Bool(flagSystem)
	if absolute, err := filepath.Abs(name); err == nil && name != ui.StdinName && !ctx.IsSet(flagSystem) {
		system = strings.HasPrefix(absolute, "/etc/")
	}
	entries, notes := fromCrontab(string(data), system, zone)
	return entries, notes, nil
}

func timers(dir, zone string) ([]entry, []string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil, ui.Usagef("%s is no directory", dir)
	}
	return fromTimers(os.DirFS(dir), zone)
}

func (c *commands) read(name string) ([]byte, error) {
	from := c.Env.Stdin
	if name != ui.StdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, ui.Usagef("%w", err)
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, ui.Usagef("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, ui.Usagef("%s has more than 1 MiB: is this a crontab?", name)
	}
	return data, nil
}

func places(ctx *cli.Context) (zone string, label [2]string, err error) {
	if zone = ctx.String(flagTimezone); zone == "" {
		zone = localZone()
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return "", label, ui.Usagef("--timezone: there is no time zone %q: use an IANA name like Europe/Berlin", zone)
	}
	written := ctx.String(flagLabel)
	if written == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", label, fmt.Errorf("the name of this machine is unknown, name workers with --label: %w", err)
		}
		written = "host=" + host
	}
	key, value, ok := strings.Cut(written, "=")
	if !ok || key == "" || value == "" {
		return "", label, ui.Usagef("--label %s: write KEY=VALUE", written)
	}
	return zone, [2]string{key, value}, nil
}

// localZone returns the IANA name of this machine's zone, UTC if it has none.
func localZone() string {
	if zone := strings.TrimPrefix(os.Getenv("TZ"), ":"); zone != "" {
		return zone
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, zone, ok := strings.Cut(target, "/zoneinfo/"); ok {
			return zone
		}
	}
	return "UTC"
}

// print writes the draft. A draft with a fault is printed as well, with the fault on standard error.
func (c *commands) print(entries []entry, notes []string, label [2]string, origin string) error {
	draft, err := write(entries, notes, label, origin, c.Env.Own)
	if err != nil {
		return err
	}
	if _, err := c.Env.Stdout.Write(draft); err != nil {
		return fmt.Errorf("print the draft: %w", err)
	}
	left, remarks := len(notes), 0
	for _, e := range entries {
		remarks += len(e.notes)
	}
	options, err := c.LoadOptions()
	if err != nil {
		return err
	}
	options.Sources = []config.Source{{Name: "draft", Data: draft}}
	_, err = config.Load(options)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		left += len(faults)
		c.Complain("%s", faults.Error())
	}
	c.Complain("%d job types with %d remarks; %d lines or timers without a translation (TODO)", len(entries), remarks, left)
	if left > 0 {
		return ui.Silent(ui.ExitFailed)
	}
	return nil
}
