package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

// AuditPoll is the interval of `audit --follow`.
const AuditPoll = time.Second

func (c *commands) auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", ArgsUsage: "[REF]", Usage: "list changes by people, and refusals",
		Description: `REF is a job type, a run or a thing by kind. Decisions of one run are added up by their code: ×4 is four of them.

Examples:
  roundsman audit --since 2h
  roundsman audit scrub
  roundsman audit worker/node-a --limit 20
  roundsman audit --actor ann --output json | jq -r '.[] | "\(.at) \(.action) \(.object)"'`,
		Flags: ui.ListFlags(append([]cli.Flag{
			&cli.StringFlag{Name: "actor", Usage: "only the changes of `ACTOR`"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "the newest `N` rows; 0: all"},
			&cli.BoolFlag{Name: ui.FlagFollow, Aliases: []string{"f"}, Usage: "show new entries as they come"},
		}, ui.PeriodFlags()...)...),
		Before: func(ctx *cli.Context) error {
			_, err := c.auditFilter(ctx)
			return err
		},
		Action: c.audit,
	}
}

func (c *commands) auditFilter(ctx *cli.Context) (contract.AuditFilter, error) {
	filter := contract.AuditFilter{Actor: ctx.String("actor"), Limit: ctx.Int(ui.FlagLimit)}
	var err error
	filter.Since, filter.Until, err = c.Period(ctx)
	if filter.Limit < 0 {
		err = errors.Join(err, fmt.Errorf("--limit %d: give at least 1, or 0 for all", filter.Limit))
	}
	if err != nil {
		return filter, ui.Faulty(err)
	}
	return filter, nil
}

// A run needs the server to be found; the other things are named as they are.
func (c *commands) audit(ctx *cli.Context) error {
	list := func(jobType, of string) error {
		return c.Connected(func(ctx *cli.Context, client *starter.Client) error { return c.listAudit(ctx, client, jobType, of) })(ctx)
	}
	parsed, err := ref.Parse(ctx.Args().First())
	switch {
	case ctx.Args().Len() == 0:
		return list("", "")
	case err == nil && parsed.Bare() && slices.Contains([]string{"admission", "audit", "fleet", "notifications"}, parsed.Name):
		return list("", parsed.Name)
	case err == nil && (parsed.Kind == ref.JobType || parsed.Bare()):
		return list(parsed.Name, "")
	case err == nil && parsed.Kind != "":
		return list("", parsed.Text)
	}
	return target.All(c.Program, target.Accepts{Runs: true, Items: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) error {
		if t.IsItem() {
			return c.listAudit(ctx, client, "", t.Item.String())
		}
		return c.listAudit(ctx, client, "", t.Run.WorkflowID)
	})(ctx)
}

func (c *commands) listAudit(ctx *cli.Context, client *starter.Client, jobType, of string) error {
	filter, err := c.auditFilter(ctx)
	if err != nil {
		return err
	}
	filter.JobType, filter.Of = jobType, of
	found, err := client.Audit().Read(ctx.Context, filter)
	if err != nil {
		return err
	}
	if found.Dropped > 0 {
		c.Complain("note: the log keeps %d entries; %d older ones were dropped", found.Limit, found.Dropped)
	}
	if ctx.Bool(ui.FlagFollow) {
		return c.followAudit(ctx, client, filter, found)
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, lists.OrEmpty(found.Entries), ui.Names(found.Entries, auditObjectOf)...)
	}
	c.printAudit(found.Entries, false)
	return nil
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
