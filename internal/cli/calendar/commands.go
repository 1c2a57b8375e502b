package calendar

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/calendar"
)

const defaultLimit = 50

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{c.schedule(), c.forecast(), c.ledger()}
}

func (c *commands) forecast() *cli.Command {
	return &cli.Command{
		Name: "forecast", Usage: "the runs and the skipped instants of the next seven days",
		Description: `It follows schedules, windows, blackouts, exclusive lanes and policy.overlap, and takes each run to last as long
as the median of the last ones. It does not know what people will do, nor which workers will be away.

Examples:
  roundsman schedule --since now
  roundsman schedule --job-type scrub --days 2 --since now
  roundsman schedule --skipped --output json --since now | jq '.ticks[] | {job_type, at, code}'`,
		Flags: ui.ListFlags(
			&cli.StringSliceFlag{Name: ui.FlagJobType, Usage: "only job type `NAME`; may be repeated"},
			&cli.IntFlag{Name: "days", Usage: "look `N` days ahead, at most 7", Value: 7},
			&cli.BoolFlag{Name: "skipped", Usage: "only instants that will be skipped"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "show the first `N` instants; 0: all", Value: defaultLimit},
		),
		Before: checkDays,
		Action: c.Connected(c.showForecast),
	}
}

func (c *commands) ledger() *cli.Command {
	return &cli.Command{
		Name: "ledger", Usage: "list the outcome of each scheduled instant of the last seven days",
		Description: `Each instant ran, is open, was skipped with a code, or was missed with a code. One that is waiting is kept
back by its Schedule (policy.overlap) until the run that is named ends.

Examples:
  roundsman schedule --until now
  roundsman schedule --job-type scrub --days 1 --until now
  roundsman schedule --dropped --output json --until now | jq '.ticks[] | {job_type, at, state, code}'`,
		Flags: ui.ListFlags(
			&cli.StringSliceFlag{Name: ui.FlagJobType, Usage: "only job type `NAME`; may be repeated"},
			&cli.IntFlag{Name: "days", Usage: "look `N` days back, at most 7", Value: 7},
			&cli.BoolFlag{Name: "dropped", Usage: "only skipped or missed instants"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "show the last `N` instants; 0: all", Value: defaultLimit},
		),
		Before: checkDays,
		Action: c.Connected(c.showLedger),
	}
}

func checkDays(ctx *cli.Context) error {
	var faults []error
	if days := ctx.Int("days"); days < 1 || days > 7 {
		faults = append(faults, fmt.Errorf("--days %d: give 1 to 7", days))
	}
	if limit := ctx.Int(ui.FlagLimit); limit < 0 {
		faults = append(faults, fmt.Errorf("--limit %d: give at least 1, or 0 for all", limit))
	}
	if err := errors.Join(faults...); err != nil {
		return ui.Faulty(err)
	}
	return nil
}

func days(ctx *cli.Context) time.Duration { return time.Duration(ctx.Int("days")) * 24 * time.Hour }

func (c *commands) showForecast(ctx *cli.Context, client *starter.Client) error {
	found, err := calendar.ForecastOf(ctx.Context, client, c.Env.Now(), days(ctx), ctx.StringSlice(ui.FlagJobType)...)
	if err != nil {
		return err
	}
	if ctx.Bool("skipped") {
		found.Ticks = keep(found.Ticks, func(t calendar.ForecastTick) bool { return t.State == contract.TickSkipped })
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, found, ui.Names(found.Types, func(known calendar.ForecastType) string { return known.JobType })...)
	}
	listed := ui.NewTable("DUE", "JOB TYPE", "BEGINS", "TAKES", "+ENDS", "+WAITS", "CODE", "OBJECT")
	for _, tick := range first(found.Ticks, ctx.Int(ui.FlagLimit)) {
		begins, takes := ui.Text(stamp(tick.Begins)), ui.Text("")
		if tick.State == contract.TickSkipped {
			begins = ui.Cell{Text: "skipped", Paint: ui.Odd}
		} else if took := tick.Ends.Sub(tick.Begins); took > 0 {
			takes = ui.Text(ui.Span(took))
		}
		listed.Add(ui.Text(stamp(tick.At)), ui.Text(tick.JobType), begins, takes, ui.Text(stamp(tick.Ends)), ui.Text(ui.Span(tick.Waits.Std())), ui.Text(string(tick.Code)), ui.Text(objectOf(tick)))
	}
	c.PrintTable(listed, "nothing is due")
	c.more(len(found.Ticks), ctx.Int(ui.FlagLimit))
	for _, known := range found.Types {
		for _, note := range known.Notes {
			c.Complain("note: %s", note)
		}
		switch {
		case known.Fault != "":
			c.Complain("note: %s is not in the forecast: %s", known.JobType, known.Fault)
		case known.Of == 0 && known.Due > 0:
			c.Complain("note: no run time of %s is known yet; its runs count as short", known.JobType)
		}
	}
	return nil
}

func (c *commands) showLedger(ctx *cli.Context, client *starter.Client) error {
	now := c.Env.Now()
	found, err := calendar.LedgerOf(ctx.Context, client, now, now.Add(-days(ctx)), ctx.StringSlice(ui.FlagJobType)...)
	if err != nil {
		return err
	}
	c.noteCut(found)
	if ctx.Bool("dropped") {
		found.Ticks = keep(found.Ticks, func(t calendar.LedgerTick) bool {
			return t.State == contract.TickSkipped || t.State == contract.TickMissed
		})
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, found, runsOf(found.Ticks)...)
	}
	shown := first(found.Ticks, ctx.Int(ui.FlagLimit))
	slices.Reverse(shown)
	listed := ui.NewTable("DUE", "JOB TYPE", "STATE", "CODE", "OUTCOME", "TOOK", "+STARTED", "+ENDED", "RUN")
	for _, tick := range shown {
		took := ""
		if !tick.Ended.IsZero() {
			took = ui.Span(tick.Ended.Sub(tick.Started))
		}
		listed.Add(ui.Text(stamp(tick.At)), ui.Text(tick.JobType), statePaint(tick.State), ui.Text(string(tick.Code)),
			ui.Cell{Text: string(tick.Outcome), Paint: ui.OutcomePaint(tick.Outcome)}, ui.Text(took), ui.Text(stamp(tick.Started)), ui.Text(stamp(tick.Ended)), ui.Text(tick.Run))
	}
	c.PrintTable(listed, "nothing was due")
	c.more(len(found.Ticks), ctx.Int(ui.FlagLimit))
	return nil
}

func objectOf(tick calendar.ForecastTick) string {
	if len(tick.If) == 0 {
		return tick.Object
	}
	texts := make([]string, len(tick.If))
	for i, condition := range tick.If {
		texts[i] = condition.Text
	}
	return strings.Join(texts, "; ")
}

func runsOf(ticks []calendar.LedgerTick) (runs []string) {
	for _, tick := range ticks {
		if tick.State == contract.TickRan {
			runs = append(runs, tick.Run)
		}
	}
	return runs
}

func statePaint(state contract.TickState) ui.Cell {
	paints := map[contract.TickState]ui.Paint{contract.TickRan: ui.Good, contract.TickSkipped: ui.Odd, contract.TickMissed: ui.Bad, contract.TickWaiting: ui.Odd}
	return ui.Cell{Text: string(state), Paint: paints[state]}
}

func (c *commands) noteCut(found calendar.Ledger) {
	if found.Incomplete {
		c.Complain("note: there are more runs than are read: the ledger begins %s; name one job type to see more", stamp(found.From))
	}
}

func (c *commands) more(all, limit int) {
	if limit > 0 && all > limit {
		c.Complain("note: %d of %d are shown, --limit 0 shows all", limit, all)
	}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("Mon 01-02 15:04 MST")
}

func keep[T any](list []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(list, func(one T) bool { return !wanted(one) })
}

func first[T any](list []T, limit int) []T {
	return list[:min(len(list), cmp.Or(limit, len(list)))]
}
