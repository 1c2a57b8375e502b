package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobs() *cli.Command {
	return &cli.Command{
		Name: "jobs", ArgsUsage: "[REF]", Usage: "list or search jobs and tasks",
		Description: `REF is a run, a worker or a dedupe key. Without REF the newest runs are searched. STATE is a state of a job, or
bad: failed, stale or expired.

Examples:
  roundsman jobs scrub
  roundsman jobs scrub@last -s bad
  roundsman jobs node-a -s running
  roundsman jobs :/srv/a.bin
  roundsman jobs -s failed --since 12h
  roundsman jobs scrub --output json | jq '.items[] | select(.attempt > 1)'`,
		Flags: ui.ListFlags(append([]cli.Flag{ui.StateFlag("bad or the state of a job", append([]string{ui.StateBad}, starter.ItemStates()...)...), c.itemSorting().Flag(), ui.LimitFlag()}, ui.PeriodFlags()...)...),
		Before: func(ctx *cli.Context) error {
			if ctx.Args().Len()+len(ctx.StringSlice(ui.FlagState)) == 0 && !ctx.IsSet(flagSince) {
				if err := ctx.Set(flagSince, "24h"); err != nil {
					return err
				}
			}
			_, err := c.search(ctx)
			return err
		},
		Action: ui.Recalling(c.findJobs),
	}
}

const (
	searchedRuns = 200
	flagSince    = "since"
	flagUntil    = "until"
)

func (c *commands) search(ctx *cli.Context) (starter.ItemSearch, error) {
	states, err := ui.States(ctx, contract.JobFailed, contract.JobStale, contract.JobExpired)
	if err != nil {
		return starter.ItemSearch{}, err
	}
	since, until, err := c.Period(ctx)
	if err != nil {
		return starter.ItemSearch{}, ui.Faulty(err)
	}
	search := starter.ItemSearch{Runs: starter.RunFilter{Since: since, Until: until, Limit: searchedRuns}, States: states, Limit: ui.Limit(ctx)}
	return search, checkLimit(search.Limit)
}

// A key of a job type needs no run.
func (c *commands) findJobs(ctx *cli.Context) error {
	parsed, err := ref.Parse(ctx.Args().First())
	if err == nil && parsed.HasKey && !parsed.AtRun {
		return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			return c.searchJobs(ctx, client, func(search *starter.ItemSearch) { search.Runs.JobType, search.DedupeKey = parsed.Name, parsed.Key })
		})(ctx)
	}
	return target.Optional(c.Program, target.Accepts{Named: []ref.Kind{ref.Worker}, Runs: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) error {
		if t.IsRun() {
			return c.listJobs(ctx, client, t.Run)
		}
		return c.searchJobs(ctx, client, func(search *starter.ItemSearch) { search.Worker = t.Name })
	})(ctx)
}

func (c *commands) listJobs(ctx *cli.Context, client *starter.Client, run starter.RunRef) error {
	for _, flag := range []string{flagSince, flagUntil} {
		if ctx.IsSet(flag) {
			return ui.Usagef("--%s searches over runs: leave the RUN out", flag)
		}
	}
	search, err := c.search(ctx)
	if err != nil {
		return err
	}
	items, total, err := client.Runs().Items(ctx.Context, run, starter.ItemFilter{States: search.States, Limit: search.Limit})
	if err != nil {
		return err
	}
	none := "no jobs match"
	if len(search.States) == 0 {
		none = fmt.Sprintf("%s has no jobs (reason: `roundsman show %s`; other runs: `roundsman runs`)", run.WorkflowID, run.WorkflowID)
	}
	return c.answerItems(ctx, items, total, false, func() { c.printItems(items, total, none, false) })
}

func (c *commands) searchJobs(ctx *cli.Context, client *starter.Client, narrow func(*starter.ItemSearch)) error {
	search, err := c.search(ctx)
	if err != nil {
		return err
	}
	narrow(&search)
	limit := search.Limit
	search.Limit++
	items, err := client.Runs().Search(ctx.Context, search)
	if len(items) == 0 && err != nil {
		return err
	}
	c.Note(err)
	more := len(items) > limit
	items = items[:min(len(items), limit)]
	return c.answerItems(ctx, items, len(items), more, func() {
		c.printItems(items, len(items), "no jobs match", true)
		if more {
			c.Remark("only the first %d; see more with --limit", len(items))
		}
	})
}

func (c *commands) answerItems(ctx *cli.Context, items []starter.Item, total int, more bool, list func()) error {
	c.Note(starter.RecallOf(ctx.Context))
	c.itemSorting().Sort(ctx, items)
	if !ui.WantsData(ctx) {
		list()
		return nil
	}
	answer := map[string]any{"items": lists.OrEmpty(items), "total": total}
	if more {
		answer["more"] = true
	}
	if at := starter.AsOf(ctx.Context); !at.IsZero() {
		answer["as_of"] = at
	}
	return c.Answer(ctx, answer, ui.Names(items, func(item starter.Item) string { return item.Ref().String() })...)
}

// printItems lists jobs or tasks. Results from several runs start with the run.
func (c *commands) printItems(items []starter.Item, total int, none string, several bool) {
	isTasks := len(items) > 0 && items[0].Run.Kind() == starter.KindDAG
	now, columns := c.Env.Now(), []string{"JOB", "STATE", "WORKER", "TRY", "TOOK", "PROGRESS", "+KEY", "+PRIORITY", "+STARTED", "WHAT"}
	if isTasks && !several {
		columns = []string{"TASK", "STATE", "WORKER", "TRY", "TOOK", "PROGRESS", "FROM", "+READY", "STARTED", "WHAT"}
	}
	listed := ui.NewTable(columns...)
	for _, item := range items {
		percent, worker := "", item.Worker
		if item.Active != nil {
			percent, worker = PercentOf(*item.Active), cmp.Or(worker, item.Active.Worker())
		}
		name := ui.Text(item.ID)
		if several {
			name.Text = item.Ref().String()
		}
		cells := []ui.Cell{name, {Text: item.State, Paint: statePaint(item.State)}, ui.Text(worker), ui.Text(attempts(item)), ui.Text(itemTook(item, now)), ui.Text(percent)}
		if isTasks && !several {
			cells = append(cells, ui.Text(item.FromRun), ui.Text(ui.Stamp(item.ReadyAt)))
		} else {
			cells = append(cells, ui.Text(item.DedupeKey), ui.Text(string(item.Priority)))
		}
		listed.Add(append(cells, ui.Text(ui.Stamp(item.StartedAt)), ui.Cell{Text: what(item), Cause: item.Error != ""})...)
	}
	c.PrintTable(listed, none)
	c.More(len(items), total)
}

func (c *commands) itemSorting() ui.Sorting[starter.Item] {
	return ui.Sorting[starter.Item]{
		ui.By("id", func(i starter.Item) string { return i.Ref().String() }),
		ui.By("state", func(i starter.Item) string { return i.State }),
		ui.By("worker", func(i starter.Item) string { return i.Worker }),
		ui.By("try", func(i starter.Item) int { return i.Attempt }),
		ui.By("took", func(i starter.Item) time.Duration { took, _ := itemSpan(i, c.Env.Now()); return took }),
		ui.ByTime("started", func(i starter.Item) time.Time { return i.StartedAt }),
		ui.By("key", func(i starter.Item) string { return i.DedupeKey }),
		ui.By("priority", func(i starter.Item) int { return i.Priority.Rank() }),
	}
}

func attempts(item starter.Item) string {
	if item.Attempt == 0 {
		return ""
	}
	return fmt.Sprint(item.Attempt)
}

// The most useful sentence is the error, the wait, the progress message or the summary.
func what(item starter.Item) string {
	about := cmp.Or(item.Summary, item.DedupeKey)
	if item.Decision != nil {
		about = item.Decision.String()
	}
	if item.Redefined {
		about = strings.TrimSuffix("redefined: "+about, ": ")
	}
	switch {
	case item.Error != "":
		return strings.TrimPrefix(about+": "+item.Error, ": ")
	case item.Waiting != "":
		return strings.TrimSpace(about + " (" + item.Waiting + ")")
	case item.Active != nil && MessageOf(*item.Active) != "":
		return strings.TrimPrefix(about+": "+MessageOf(*item.Active), ": ")
	}
	return about
}

func statePaint(state string) ui.Paint {
	switch state {
	case "completed":
		return ui.Good
	case "failed", "stale", "upstream_failed":
		return ui.Bad
	case "canceled", "skipped", "warning":
		return ui.Odd
	case "running":
		return ui.Bold
	}
	return ui.Plain
}

func itemTook(item starter.Item, now time.Time) string {
	took, known := itemSpan(item, now)
	switch {
	case item.State == "assigned":
		return "not taken yet"
	case !known:
		return ""
	}
	return ui.Span(took)
}

// The span is unknown between two attempts, for items that take no time, and without a recorded end.
func itemSpan(item starter.Item, now time.Time) (time.Duration, bool) {
	waits := item.Active == nil && (item.State == "pending" || item.State == "ready")
	if item.State == "assigned" || item.StartedAt.IsZero() || item.EndedAt.IsZero() && (item.Ended() || waits) {
		return 0, false
	}
	return since(item.StartedAt, item.EndedAt, now), true
}

// runningFor returns the duration of an item's open attempt.
func runningFor(item starter.ActiveItem, now time.Time) string {
	if !item.Started {
		return "not taken yet"
	}
	return ui.Span(now.Sub(item.StartedAt))
}

// PercentOf returns the progress that an item reported, or "".
func PercentOf(item starter.ActiveItem) string {
	if item.Progress == nil || item.Progress.Percent < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", item.Progress.Percent)
}

// MessageOf returns the newest message of an item.
func MessageOf(item starter.ActiveItem) string {
	if item.Progress == nil {
		return ""
	}
	said := strings.TrimSpace(item.Progress.Stage + " " + item.Progress.Message)
	if item.Quiet > 0 {
		said = strings.TrimSpace(said + " (no report, output, CPU or I/O for " + ui.Span(item.Quiet.Std()) + ")")
	} else if item.Progress.Stalled > 0 {
		said = strings.TrimSpace(said + " (its handler has reported nothing for " + item.Progress.Stalled.String() + ")")
	}
	return said
}

// CancelItem cancels one job or task with its next heartbeat. The others continue.
func CancelItem(p *ui.Program, ctx *cli.Context, client *starter.Client, item starter.ItemRef) error {
	return endItem(p, ctx, item, "cancel", client.Runs().CancelItem)
}

// ExpireItem gives one job up without waiting for its handler. Its resources and its dedupe key are free for others.
func ExpireItem(p *ui.Program, ctx *cli.Context, client *starter.Client, item starter.ItemRef) error {
	return endItem(p, ctx, item, "expire", client.Runs().ExpireItem)
}

func endItem(p *ui.Program, ctx *cli.Context, item starter.ItemRef, verb string, end func(context.Context, starter.ItemRef, string) error) error {
	if err := end(ctx.Context, item, ctx.String(ui.FlagReason)); err != nil {
		return seeEnded(err, item.String())
	}
	return p.Done(ctx, map[string]any{"job": item.String(), "requested": verb}, "%s requested: %s", verb, item)
}

// seeEnded adds the command that shows the result.
func seeEnded(err error, what string) error {
	if errors.Is(err, starter.ErrAlreadyEnded) {
		return fmt.Errorf("%w (see `roundsman show %s`)", err, what)
	}
	return err
}
