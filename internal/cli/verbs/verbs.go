package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

type commands struct{ *ui.Program }

// Commands are the verbs, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return slices.Concat(c.look(), c.act(), c.change(), c.fleet(), c.admin())
}

type old struct {
	path  string
	flags []string
	args  []string
	// used are the flags of the verb that the line carries.
	used []string
	// drop is a common flag that the line does not have.
	drop string
	// offline refuses the common flags of a connection. --output counts, --config has no effect.
	offline bool
}

func to(path string, args ...string) old { return old{path: path, args: args} }

// with carries flags of the verb over. A flag with another name there is written as NEW=OLD.
func (o old) with(ctx *cli.Context, flags ...string) old {
	for _, flag := range flags {
		name, there, renamed := strings.Cut(flag, "=")
		if !renamed {
			there = name
		}
		o.used = append(o.used, name)
		if !ctx.IsSet(name) {
			continue
		}
		for _, value := range values(ctx, name) {
			o.flags = append(o.flags, "--"+there+"="+value)
		}
	}
	return o
}

func (o old) uses(flags ...string) old {
	o.used = append(slices.Clone(o.used), flags...)
	return o
}

func (o old) and(flag string) old {
	o.flags = append(slices.Clone(o.flags), flag)
	return o
}

func values(ctx *cli.Context, name string) []string {
	if params, ok := ctx.Generic(name).(*ui.ParamFlag); ok && params != nil {
		var all []string
		for _, pair := range params.Given {
			all = append(all, pair[0]+"="+pair[1])
		}
		return all
	}
	if texts := ui.Texts(ctx, name); texts != nil {
		return texts
	}
	for _, flag := range ctx.Command.Flags {
		if _, list := flag.(*cli.StringSliceFlag); list && slices.Contains(flag.Names(), name) {
			return ctx.StringSlice(name)
		}
	}
	return []string{fmt.Sprint(ctx.Value(name))}
}

// forward refuses a flag that has no effect on the hidden command.
func (c *commands) forward(ctx *cli.Context, line old) error {
	common := []string{}
	for _, flag := range ctx.Command.Flags {
		name := flag.Names()[0]
		if !ctx.IsSet(name) || name == line.drop {
			continue
		}
		if category, ok := flag.(cli.CategorizableFlag); ok && category.GetCategory() == ui.CategoryCommon {
			switch {
			case !line.offline || name == ui.FlagOutput:
			case name == ui.FlagConfig:
				continue
			default:
				return ui.Usagef("--%s has no effect with --dry-run on a file, which uses no server: leave it out", name)
			}
			for _, value := range values(ctx, name) {
				common = append(common, "--"+name+"="+value)
			}
			continue
		}
		if !slices.Contains(line.used, name) {
			on := ctx.Args().Slice()
			if len(line.args) > 0 {
				on = line.args[:1] // A reference from standard input, or the run of a name.
			}
			return ui.Usagef("--%s has no effect on %s: leave it out, or see %s --help", name, strings.Join(on, " "), ui.HelpName(ctx))
		}
	}
	words := slices.Concat(strings.Fields(line.path), line.flags, common)
	if len(line.args) > 0 {
		words = append(append(words, "--"), line.args...)
	}
	return c.Forward(ctx.Context, ui.HelpName(ctx), words)
}

func linesOf(text string) []string {
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return slices.DeleteFunc(all, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// each runs one action for every reference of the command line, or every line of standard input for -. All are tried.
func (c *commands) each(ctx *cli.Context, act func(text string) error) error {
	texts := ctx.Args().Slice()
	if len(texts) == 1 && texts[0] == ui.StdinName {
		read, err := c.ReadSpec(ui.StdinName)
		if err != nil {
			return err
		}
		texts = linesOf(string(read))
	}
	var faults []error
	c.Several = len(texts) > 1
	for _, text := range texts {
		if err := act(text); err != nil {
			if len(texts) > 1 {
				err = fmt.Errorf("%s: %w", text, err)
			}
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

type target struct {
	text   string
	parsed ref.Ref
	// Kind of a job type, worker, lane, pool, object, receiver or key; empty for runs and items.
	kind ref.Kind
	name string
	run  starter.RunRef
	item starter.ItemRef
}

// isRun, isItem and isKey distinguish the forms without a kind.
func (t target) isRun() bool  { return t.kind == "" && t.run.WorkflowID != "" }
func (t target) isItem() bool { return t.kind == "" && t.item.ID != "" }
func (t target) isKey() bool  { return t.parsed.HasKey }

type accepts struct {
	// named are the kinds that a bare name can have; runs: a bare name without one of these means its run.
	named []ref.Kind
	runs  bool
	items bool
	// keys accepts TYPE:KEY as the key itself, not as its newest job.
	keys bool
	// changes refuses a name that several open runs have.
	changes bool
}

// target resolves a reference for a verb that accepts these kinds.
func (c *commands) target(ctx context.Context, client *starter.Client, text string, a accepts) (target, error) {
	parsed, err := ref.Parse(text)
	if err != nil {
		return target{}, starter.Invalidf("%w", err)
	}
	t, resolver := target{text: text, parsed: parsed}, refs.Of(client)
	resolver.Strict = a.changes
	switch {
	case parsed.Kind != "" && parsed.Kind != ref.DAG:
		if !slices.Contains(a.named, parsed.Kind) {
			return t, starter.Invalidf("%s is a %s: this command takes %s", text, parsed.Kind, a)
		}
		t.kind, t.name = parsed.Kind, parsed.Name
		return t, nil
	case parsed.HasKey && a.keys && !parsed.AtRun && parsed.Name != "":
		return t, nil
	case parsed.HasKey || parsed.Item != "":
		return c.itemTarget(ctx, resolver, t, a)
	case parsed.Bare() && len(a.named) > 0:
		return c.namedTarget(ctx, client, t, a)
	}
	if !a.runs {
		next := ""
		if a.items {
			next = fmt.Sprintf("; `roundsman jobs %s` lists its items", text)
		}
		return t, starter.Invalidf("%s is a run: this command takes %s%s", text, a, next)
	}
	t.run, err = resolver.Run(ctx, text)
	return t, err
}

func (c *commands) itemTarget(ctx context.Context, resolver refs.Resolver, t target, a accepts) (target, error) {
	if a.runs && !t.parsed.HasKey {
		// The run of a DAG without its dag/, or of a sub-DAG.
		run, err := resolver.Run(ctx, t.text)
		if err == nil && run.Kind() == starter.KindDAG {
			t.run = run
			return t, nil
		}
	}
	if !a.items {
		return t, starter.Invalidf("%s is a job or task: this command takes %s", t.text, a)
	}
	item, err := resolver.Item(ctx, t.text)
	t.item = item
	return t, err
}

func (c *commands) namedTarget(ctx context.Context, client *starter.Client, t target, a accepts) (target, error) {
	kinds, err := refs.Of(client).Kinds(ctx, t.parsed.Name, a.named)
	if err != nil {
		return t, err
	}
	switch {
	case len(kinds) > 1:
		var forms strings.Builder
		for _, kind := range kinds {
			forms.WriteString("\n  " + string(kind) + "/" + t.parsed.Name)
		}
		return t, starter.Invalidf("%s is ambiguous, write one of:%s", t.text, forms.String())
	case len(kinds) == 1:
		t.kind, t.name = kinds[0], t.parsed.Name
		return t, nil
	case a.runs:
		resolver := refs.Of(client)
		resolver.Strict = a.changes
		if run, err := resolver.Run(ctx, t.text); err == nil || !errors.Is(err, starter.ErrNotFound) {
			t.run = run
			return t, err
		}
	}
	return t, refs.Of(client).Unknown(ctx, t.parsed.Name, a.named)
}

// String lists the accepted forms.
func (a accepts) String() string {
	var all []string
	for _, kind := range a.named {
		all = append(all, strings.ToUpper(string(kind)))
	}
	if a.runs {
		all = append(all, "RUN")
	}
	if a.items {
		all = append(all, "RUN/ITEM")
	}
	if a.keys {
		all = append(all, "TYPE:KEY")
	}
	return strings.Join(all, ", ")
}

func (c *commands) on(a accepts, line func(*cli.Context, *starter.Client, target) (old, error)) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		return c.each(ctx, func(text string) error {
			t, err := c.target(ctx.Context, client, text, a)
			if err != nil {
				return err
			}
			forwarded, err := line(ctx, client, t)
			if err != nil {
				return err
			}
			return c.forward(ctx, forwarded)
		})
	})
}

func (o old) without(flag string) old {
	o.drop = flag
	return o
}
