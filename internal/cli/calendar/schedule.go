package calendar

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/calendar"
)

const (
	// around is the reach of the time line, each way.
	around = 24 * time.Hour
	// furthest is the limit of the time line. A time may be as old as its typing takes.
	furthest = 7 * 24 * time.Hour
	typing   = time.Minute
	// folded bounds the coming starts of one job type that are listed one by one.
	folded = 24
)

func (c *commands) schedule() *cli.Command {
	return &cli.Command{
		Name: "schedule", ArgsUsage: "[NAME...]", Usage: "past and coming starts: ran, skipped, missed",
		Description: `The time line reaches 24 hours back and ahead: of now, or of --since ahead or --until in the past alone.
Coming starts follow schedules, windows, lanes and the usual durations. A job type that is due more than hourly has one
line. STATE is ran, open, waiting, skipped, missed or due.

Examples:
  roundsman schedule
  roundsman schedule scrub --since 7d --until now
  roundsman schedule -s skipped,missed
  roundsman schedule --since now --output json | jq '.next[] | {job_type, at, code}'`,
		Flags: ui.ListFlags(
			ui.StateFlag("ran, skipped, missed, due and others", "ran", "open", "waiting", "skipped", "missed", due),
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` rows each way; 0: all", Value: defaultLimit},
			&cli.StringFlag{Name: "since", Usage: "from `TIME` on (RFC 3339, or a duration before now)"},
			&cli.StringFlag{Name: "until", Usage: "until `TIME` (RFC 3339, or a duration before now)"},
		),
		Before: func(ctx *cli.Context) error {
			_, _, err := c.reach(ctx)
			return err
		},
		Action: c.Connected(c.showSchedule),
	}
}

func (c *commands) reach(ctx *cli.Context) (since, until time.Time, err error) {
	now := c.Env.Now()
	since, until, err = c.Period(ctx)
	if err != nil {
		return since, until, ui.Faulty(err)
	}
	center := time.Duration(0) // from now
	switch {
	case !until.IsZero() && until.Before(now):
		center = until.Sub(now)
	case since.After(now):
		center = since.Sub(now)
	}
	if since.IsZero() {
		since = now.Add(max(center-around, -furthest))
	}
	if until.IsZero() {
		until = now.Add(min(center+around, furthest))
	}
	if now.Sub(since) > furthest+typing || until.Sub(now) > furthest+typing || until.Before(since) {
		return since, until, ui.Usagef("--since and --until reach 7 days back and ahead at most")
	}
	return since, until, nil
}

func (c *commands) showSchedule(ctx *cli.Context, client *starter.Client) error {
	since, until, err := c.reach(ctx)
	if err != nil {
		return err
	}
	wanted := func(at time.Time, state string) bool {
		return !at.Before(since) && !at.After(until) && chosen(ctx, state)
	}
	names := ctx.Args().Slice()
	for i, name := range names {
		parsed, err := ref.Parse(name)
		if err != nil || !parsed.Bare() && parsed.Kind != ref.JobType {
			return ui.Usagef("%s is no job type: see `roundsman jobtypes`", name)
		}
		names[i] = parsed.Name
	}
	now := c.Env.Now()
	past, next := []calendar.LedgerTick{}, []calendar.ForecastTick{}
	if now.Sub(since) >= time.Second {
		found, err := calendar.LedgerOf(ctx.Context, client, now, since.Add(-time.Second), names...) // It begins after that time.
		if err != nil {
			return err
		}
		c.noteCut(found)
		past = keep(found.Ticks, func(t calendar.LedgerTick) bool { return wanted(t.At, string(t.State)) })
	}
	if until.After(now) {
		found, err := calendar.ForecastOf(ctx.Context, client, now, until.Sub(now), names...)
		if err != nil {
			return err
		}
		next = keep(found.Ticks, func(t calendar.ForecastTick) bool { return wanted(t.At, stateOf(t)) })
		for _, known := range found.Types {
			for _, note := range known.Notes {
				c.Complain("note: %s", note)
			}
		}
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"past": lists.OrEmpty(past), "next": lists.OrEmpty(next)}, runsOf(past)...)
	}
	c.printSchedule(ctx, past, next, until)
	return nil
}

const due = "due"

func stateOf(tick calendar.ForecastTick) string {
	if tick.State == contract.TickSkipped {
		return string(tick.State)
	}
	return due
}

func chosen(ctx *cli.Context, state string) bool {
	wanted := ctx.StringSlice(ui.FlagState)
	return len(wanted) == 0 || slices.Contains(wanted, state)
}

func (c *commands) printSchedule(ctx *cli.Context, past []calendar.LedgerTick, next []calendar.ForecastTick, until time.Time) {
	limit := ctx.Int(ui.FlagLimit)
	listed := ui.NewTable("DUE", "JOB TYPE", "STATE", "CODE", "TOOK", "RUN OR OBJECT")
	shown := first(past, limit)
	slices.Reverse(shown)
	for _, tick := range shown {
		took := ""
		if !tick.Ended.IsZero() {
			took = ui.Span(tick.Ended.Sub(tick.Started))
		}
		run := ""
		if tick.Run != "" {
			run = ref.OfRun(tick.Run)
		}
		listed.Add(ui.Text(stamp(tick.At)), ui.Text(tick.JobType), statePaint(tick.State), ui.Text(string(tick.Code)), ui.Text(took), ui.Text(run))
	}
	counts, seen := map[string]int{}, map[string]bool{}
	for _, tick := range next {
		counts[tick.JobType]++
	}
	var rows []calendar.ForecastTick
	for _, tick := range next {
		if counts[tick.JobType] > folded && seen[tick.JobType] {
			continue
		}
		seen[tick.JobType] = true
		rows = append(rows, tick)
	}
	for _, tick := range first(rows, limit) {
		state, object := ui.Text(due), objectOf(tick)
		if tick.State == contract.TickSkipped {
			state = ui.Cell{Text: string(tick.State), Paint: ui.Odd}
		}
		if n := counts[tick.JobType]; n > folded {
			object = fmt.Sprintf("and %d more until %s", n-1, stamp(until))
		}
		listed.Add(ui.Text(stamp(tick.At)), ui.Text(tick.JobType), state, ui.Text(string(tick.Code)), ui.Text(""), ui.Text(object))
	}
	c.PrintTable(listed, "nothing was or is due")
	c.more(len(past), limit)
	c.more(len(rows), limit)
}
