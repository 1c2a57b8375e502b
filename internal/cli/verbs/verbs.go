package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

type commands struct{ *ui.Program }

// Commands are the verbs, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return slices.Concat(c.look(), c.act(), c.change(), c.fleet())
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
	// do acts without another command.
	do func() error
}

func act(of string, do func() error) old { return old{args: []string{of}, do: do} }

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

// effect forwards to a hidden command.
func (c *commands) effect(ctx *cli.Context, line old) target.Effect {
	of := strings.Join(ctx.Args().Slice(), " ")
	if len(line.args) > 0 {
		of = line.args[0] // A reference from standard input, or the run of a name.
	}
	if line.do != nil {
		return target.Effect{Of: of, Flags: line.used, Do: line.do}
	}
	return target.Effect{Of: of, Flags: append(line.used, line.drop), Do: func() error {
		common, err := commonOf(ctx, line)
		if err != nil {
			return err
		}
		words := slices.Concat(strings.Fields(line.path), line.flags, common)
		if len(line.args) > 0 {
			words = append(append(words, "--"), line.args...)
		}
		return c.Forward(ctx.Context, ui.HelpName(ctx), words)
	}}
}

func commonOf(ctx *cli.Context, line old) (common []string, err error) {
	for _, flag := range ctx.Command.Flags {
		name := flag.Names()[0]
		category, _ := flag.(cli.CategorizableFlag)
		switch {
		case !ctx.IsSet(name) || name == line.drop || category == nil || category.GetCategory() != ui.CategoryCommon:
			continue
		case !line.offline || name == ui.FlagOutput:
		case name == ui.FlagConfig:
			continue
		default:
			return nil, ui.Usagef("--%s has no effect with --dry-run on a file, which uses no server: leave it out", name)
		}
		for _, value := range values(ctx, name) {
			common = append(common, "--"+name+"="+value)
		}
	}
	return common, nil
}

func (c *commands) forward(ctx *cli.Context, line old) error { return c.effect(ctx, line).Run(ctx) }

func (c *commands) on(a target.Accepts, line func(*cli.Context, *starter.Client, target.Target) (old, error)) cli.ActionFunc {
	return target.On(c.Program, a, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
		forwarded, err := line(ctx, client, t)
		return c.effect(ctx, forwarded), err
	})
}

func (o old) without(flag string) old {
	o.drop = flag
	return o
}
