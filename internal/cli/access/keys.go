package access

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/keys"
)

func (c *commands) keysCommand() *cli.Command {
	return &cli.Command{
		Name: "keys", Usage: "create, list and revoke API keys, and end sessions",
		Subcommands: []*cli.Command{c.keysCreate(), c.keysList(), c.keysRevoke(), c.endSessions()},
	}
}

func (c *commands) keysCreate() *cli.Command {
	return &cli.Command{
		Name: "create", ArgsUsage: "NAME", Usage: "create an API key and print it once",
		Description: `NAME is the purpose of the key, and the actor in the audit log. Only the SHA-256 of the key is kept.
A control plane takes keys if access.keys is true in its configuration.

Examples:
  roundsman keys create ci --role viewer --expires 90d
  roundsman keys create storage-team --role operator --job-types 'scrub*,vacuum'
  roundsman keys create node-x --role worker --worker node-x`,
		Flags: ui.With(
			&cli.StringFlag{Name: "role", Usage: "`ROLE`: viewer, operator, admin, worker, or one of the configuration", Value: "viewer"},
			&cli.StringFlag{Name: "job-types", Usage: "only for these job types, `GLOB,...`"},
			&cli.StringFlag{Name: "dags", Usage: "only for these DAGs, `GLOB,...`"},
			&cli.StringFlag{Name: "handlers", Usage: "only for job types and DAGs with these handlers, `GLOB,...`"},
			&cli.StringFlag{Name: "worker", Usage: "only for the remote worker `ID`"},
			&cli.StringFlag{Name: "expires", Usage: "refuse the key after `DURATION`, like 90d (default: never)"},
		),
		Action: c.Named(c.createKey),
	}
}

func (c *commands) createKey(ctx *cli.Context, client *starter.Client, name string) error {
	wanted := keys.Key{
		Name: name, Role: ctx.String("role"), Worker: ctx.String("worker"),
		JobTypes: ui.SplitList(ctx.String("job-types")), DAGs: ui.SplitList(ctx.String("dags")), Handlers: ui.SplitList(ctx.String("handlers")),
	}
	if written := ctx.String("expires"); written != "" {
		lasts, err := ui.ParseDuration(written)
		if err != nil || lasts <= 0 {
			return ui.Usagef("--expires %s: write it like 12h or 90d", written)
		}
		wanted.ExpiresAt = c.Env.Now().Add(lasts).UTC().Truncate(time.Second)
	}
	if err := wanted.Validate(); err != nil {
		return ui.Faulty(err)
	}
	key, secret, err := keys.New(client).Create(ctx.Context, wanted, c.Operator())
	if err != nil {
		return err
	}
	if !ui.WantsData(ctx) {
		c.Complain("key %s for %s, role %s: keep it, it cannot be read again", key.ID, key.Name, key.Role)
	}
	return c.Done(ctx, struct {
		keys.Key
		Secret string `json:"secret"`
	}{key, secret}, "%s", secret)
}

func (c *commands) keysList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list the API keys, without their secrets",
		Description: "Examples:\n  roundsman keys\n  roundsman keys --output json | jq -r '.keys[] | select(.revoked_at == null) | .name'",
		Flags:       ui.ListFlags(keySorting().Flags()...),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			all, err := keys.New(client).List(ctx.Context)
			if err != nil {
				return err
			}
			known := len(all)
			all = keySorting().Arrange(ctx, all)
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]any{"keys": ui.OrEmpty(all)}, ui.Names(all, func(key keys.Key) string { return key.ID })...)
			}
			now, listed := c.Env.Now(), ui.NewTable("ID", "NAME", "ROLE", "CREATED", "LAST USED", "STATE")
			for _, key := range all {
				used := "never"
				if !key.LastUsed.IsZero() {
					used = ui.Ago(key.LastUsed, now)
				}
				listed.Add(ui.Text(key.ID), ui.Text(key.Name), ui.Text(key.Role), ui.Text(ui.Ago(key.CreatedAt, now)), ui.Text(used), stateOf(key, now))
			}
			c.PrintTable(listed, "no keys: create one with `roundsman keys create NAME`")
			c.More(len(all), known)
			return nil
		}),
	}
}

func keySorting() ui.Sorting[keys.Key] {
	return ui.Sorting[keys.Key]{
		ui.By("id", func(key keys.Key) string { return key.ID }),
		ui.By("name", func(key keys.Key) string { return key.Name }),
		ui.By("role", func(key keys.Key) string { return key.Role }),
		ui.ByTime("created", func(key keys.Key) time.Time { return key.CreatedAt }),
		ui.ByTime("used", func(key keys.Key) time.Time { return key.LastUsed }),
		ui.ByTime("expires", func(key keys.Key) time.Time { return key.ExpiresAt }),
	}
}

func stateOf(key keys.Key, now time.Time) ui.Cell {
	switch {
	case !key.RevokedAt.IsZero():
		return ui.Cell{Text: "revoked by " + key.RevokedBy, Paint: ui.Faint}
	case !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt):
		return ui.Cell{Text: "expired", Paint: ui.Faint}
	case !key.ExpiresAt.IsZero():
		return ui.Text("expires " + ui.Ago(key.ExpiresAt, now))
	}
	return ui.Cell{Text: "valid", Paint: ui.Good}
}

func (c *commands) keysRevoke() *cli.Command {
	return &cli.Command{
		Name: "revoke", ArgsUsage: "ID", Usage: "refuse an API key from now on",
		Description: "Every control plane refuses it within 5 seconds.\n\nExamples:\n  roundsman delete apikey/4mzq7bx2ka",
		Flags:       ui.With(),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, id string) error {
			key, err := keys.New(client).Revoke(ctx.Context, id, c.Operator())
			if err != nil {
				return err
			}
			return c.Done(ctx, key, "key %s of %s is revoked", key.ID, key.Name)
		}),
	}
}

func (c *commands) endSessions() *cli.Command {
	return &cli.Command{
		Name: "end-sessions", ArgsUsage: "NAME", Usage: "end all sessions of a person, who must log in again",
		Description: `NAME is the person as the audit log has them. A session has the groups of its log-in: end the sessions of
a person who has left a group. Every control plane refuses them within 5 seconds.

Examples:
  roundsman keys end-sessions ann@example.org`,
		Flags: ui.With(),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, name string) error {
			if err := keys.New(client).EndSessionsOf(ctx.Context, name); err != nil {
				return err
			}
			return c.Done(ctx, map[string]string{"name": name}, "all sessions of %s are ended", name)
		}),
	}
}
