package access

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/keys"
)

func (c *commands) keysCommand() *cli.Command {
	return &cli.Command{
		Name: "keys", Usage: "list API keys",
		Description: `Examples:
  roundsman keys
  roundsman keys create ci --role viewer --expires 90d
  roundsman delete apikey/k-1f2e3d
  roundsman keys end-sessions ann@example.org`,
		Flags:       ui.ListFlags(),
		Action:      c.Connected(c.listKeys),
		Subcommands: []*cli.Command{c.keysCreate(), c.endSessions()},
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

func (c *commands) listKeys(ctx *cli.Context, client *starter.Client) error {
	all, err := keys.New(client).List(ctx.Context)
	if err != nil {
		return err
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, map[string]any{"keys": lists.OrEmpty(all)}, ui.Names(all, func(key keys.Key) string { return key.ID })...)
	}
	now, listed := c.Env.Now(), ui.NewTable("ID", "NAME", "ROLE", "CREATED", "LAST USED", "STATE")
	for _, key := range all {
		listed.Add(ui.Text(key.ID), ui.Text(key.Name), ui.Text(key.Role), ui.Text(ui.Ago(key.CreatedAt, now)), ui.Text(lastUse(key, now)), stateOf(key, now))
	}
	c.PrintTable(listed, "no keys: create one with `roundsman keys create NAME`")
	return nil
}

// lastUse has the precision of the stored time, an hour: the key may have been used later.
func lastUse(key keys.Key, now time.Time) string {
	if key.LastUsed.IsZero() {
		return "never"
	}
	return "at most " + ui.Ago(key.LastUsed, now)
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

// Revoke refuses an API key from now on.
func Revoke(p *ui.Program, ctx *cli.Context, client *starter.Client, id string) error {
	key, err := keys.New(client).Revoke(ctx.Context, id, p.Operator())
	if err != nil {
		return err
	}
	return p.Done(ctx, key, "key %s of %s is revoked", key.ID, key.Name)
}

func (c *commands) endSessions() *cli.Command {
	return &cli.Command{
		Name: "end-sessions", Hidden: true, ArgsUsage: "NAME", Usage: "end all sessions of a person, who must log in again",
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
