package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// AuditPoll is the interval of `audit --follow`.
const AuditPoll = time.Second

func (c *commands) auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "list actions of operators, and refused or delayed work",
		Subcommands: []*cli.Command{c.auditList()},
	}
}

func (c *commands) auditList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list the entries of the audit log, oldest first",
		Description: `Operators' actions (caller, source, action, before and after) and decisions of the scheduler that refused
or delayed something, whatever they were made with: this program, the plain temporal CLI or the Web UI.
ROUNDSMAN_ACTOR says who acts where the user's name does not. Decisions of one run are added up by their
code: ×4 is four of them. The log keeps the newest 4,000 entries (audit.entries in the
configuration); how many older ones it has dropped is said on standard error.

--output json prints an array; with --follow one object a line.

Examples:
  roundsman audit --since 2h
  roundsman audit scrub --kind scheduler
  roundsman audit --actor ann --since 2026-11-20T09:00:00Z --output json | jq -r '.[] | "\(.at) \(.action) \(.object)"'
  roundsman audit worker/node-a --limit 20
  roundsman audit --limit 10 --follow`,
		Flags: ui.ListFlags(append(ui.PeriodFlags(),
			&cli.StringFlag{Name: ui.FlagJobType, Usage: "only entries about job type `NAME`"},
			&cli.StringFlag{Name: "actor", Usage: "only actions of `ACTOR`"},
			&cli.StringFlag{Name: "kind", Usage: "only `KIND`: operator or scheduler"},
			&cli.StringFlag{Name: "object", Usage: "only entries about objects that begin with `PREFIX`, such as group/scrub"},
			&cli.StringFlag{Name: "of", Usage: "only entries about `OBJECT`, such as worker/node-a, and those below it"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "the newest `N` that match; 0: all"},
			auditSorting().Flag(),
			&cli.BoolFlag{Name: "follow", Usage: "then show new entries as they come, until interrupted"},
		)...),
		Before: func(ctx *cli.Context) error {
			_, err := c.auditFilter(ctx)
			return err
		},
		Action: c.Connected(c.listAudit),
	}
}

func (c *commands) auditFilter(ctx *cli.Context) (contract.AuditFilter, error) {
	filter := contract.AuditFilter{
		JobType: ctx.String(ui.FlagJobType), Actor: ctx.String("actor"), Kind: ctx.String("kind"),
		Object: ctx.String("object"), Of: ctx.String("of"), Limit: ctx.Int(ui.FlagLimit),
	}
	var faults []error
	var err error
	filter.Since, filter.Until, err = c.Period(ctx)
	faults = append(faults, err)
	switch {
	case filter.Kind != "" && filter.Kind != contract.AuditOperator && filter.Kind != contract.AuditScheduler:
		faults = append(faults, fmt.Errorf("--kind %s: must be operator or scheduler", filter.Kind))
	case ctx.Bool("follow") && ctx.IsSet(ui.FlagSort):
		faults = append(faults, errors.New("--sort does not go with --follow, which shows entries as they arrive: leave one out"))
	case filter.Limit < 0:
		faults = append(faults, fmt.Errorf("--limit %d: give at least 1, or 0 for all", filter.Limit))
	}
	if err := errors.Join(faults...); err != nil {
		return filter, ui.Faulty(err)
	}
	return filter, nil
}

func (c *commands) listAudit(ctx *cli.Context, client *starter.Client) error {
	filter, err := c.auditFilter(ctx)
	if err != nil {
		return err
	}
	found, err := client.Audit().Read(ctx.Context, filter)
	if err != nil {
		return err
	}
	if found.Dropped > 0 {
		c.Complain("note: the log keeps %d entries; %d older ones were dropped", found.Limit, found.Dropped)
	}
	if ctx.Bool("follow") {
		return c.followAudit(ctx, client, filter, found)
	}
	auditSorting().Sort(ctx, found.Entries)
	if ui.WantsData(ctx) {
		return c.Answer(ctx, ui.OrEmpty(found.Entries), ui.Names(found.Entries, auditObjectOf)...)
	}
	c.printAudit(found.Entries, false)
	return nil
}

func auditSorting() ui.Sorting[contract.AuditEntry] {
	type entry = contract.AuditEntry
	return ui.Sorting[entry]{
		ui.ByTime("at", func(e entry) time.Time { return e.At }),
		ui.By("actor", func(e entry) string { return e.Actor }),
		ui.By("action", func(e entry) string { return e.Action }),
		ui.By("code", func(e entry) string { return e.Code }),
		ui.By("object", func(e entry) string { return e.Object }),
		ui.By("job-type", func(e entry) string { return e.JobType }),
	}
}

// followAudit waits while the control plane is absent.
func (c *commands) followAudit(ctx *cli.Context, client *starter.Client, filter contract.AuditFilter, found starter.AuditFound) error {
	for first := true; ; first = false {
		if err := c.showEntries(ctx, found.Entries, first); err != nil {
			return err
		}
		filter.After = max(filter.After, found.Last)
		filter.Limit, found.Entries = 0, nil
		select {
		case <-ctx.Done():
			return nil // An interrupt ends it in order.
		case <-time.After(AuditPoll):
		}
		next, err := client.Audit().Read(ctx.Context, filter)
		if starter.Unanswered(err) || ctx.Err() != nil {
			continue
		}
		if err != nil {
			return err
		}
		found = next
	}
}

func (c *commands) showEntries(ctx *cli.Context, entries []contract.AuditEntry, first bool) error {
	if !ui.WantsData(ctx) {
		if len(entries) > 0 || first {
			c.printAudit(entries, !first)
		}
		return nil
	}
	for _, entry := range entries {
		if err := c.AnswerPart(ctx, entry, auditObjectOf(entry)); err != nil {
			return err
		}
	}
	return nil
}

func auditObjectOf(entry contract.AuditEntry) string { return cmp.Or(entry.Object, entry.JobType) }

func (c *commands) printAudit(entries []contract.AuditEntry, bare bool) {
	listed := ui.NewTable("TIME", "WHO", "WHAT", "OBJECT", "+JOB TYPE", "DETAIL")
	listed.Bare = bare
	day := c.Env.Now().Local().Format(time.DateOnly)
	for _, entry := range entries {
		listed.Add(ui.Text(auditTime(entry.At, day)), auditWho(entry), auditWhat(entry), ui.Text(auditObjectOf(entry)), ui.Text(entry.JobType), ui.Text(auditText(entry)))
	}
	c.PrintTable(listed, "no entries")
}

// auditTime leaves the day out if it is today.
func auditTime(at time.Time, today string) string {
	local := at.Local()
	if local.Format(time.DateOnly) == today {
		return local.Format(time.TimeOnly)
	}
	return local.Format(time.DateTime)
}

func auditWho(entry contract.AuditEntry) ui.Cell {
	if entry.Kind == contract.AuditScheduler {
		return ui.Cell{Text: "scheduler", Paint: ui.Faint}
	}
	return ui.Cell{Text: entry.Actor, Paint: ui.Bold}
}

func auditWhat(entry contract.AuditEntry) ui.Cell {
	if entry.Kind != contract.AuditScheduler {
		return ui.Text(entry.Action)
	}
	what := strings.TrimSpace(entry.Action + " " + entry.Code)
	if entry.Count > 1 {
		what += fmt.Sprintf(" ×%d", entry.Count)
	}
	if entry.Action == contract.AuditRefused {
		return ui.Cell{Text: what, Paint: ui.Bad}
	}
	return ui.Cell{Text: what, Paint: ui.Odd}
}

func auditText(entry contract.AuditEntry) string {
	var parts []string
	switch {
	case entry.Before != "" && entry.After != "":
		parts = append(parts, entry.Before+" → "+entry.After)
	case entry.Before+entry.After != "":
		parts = append(parts, entry.Before+entry.After)
	}
	if entry.Detail != "" {
		parts = append(parts, entry.Detail)
	}
	if entry.Longest.Std() >= time.Second {
		parts = append(parts, "longest "+ui.Span(entry.Longest.Std()))
	}
	if entry.From != "" {
		parts = append(parts, "from "+entry.From)
	}
	return strings.Join(parts, "; ")
}
