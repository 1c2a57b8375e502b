package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// Effect is the action of a command on one target.
type Effect struct {
	// Of names the target. Flags are the flags that the action reads, without the common ones.
	Of    string
	Flags []string
	Do    func() error
}

// Act returns the effect of do on the named target.
func Act(of string, do func() error) Effect { return Effect{Of: of, Do: do} }

// Uses sets the flags that the action reads.
func (e Effect) Uses(flags ...string) Effect {
	e.Flags = flags
	return e
}

// All resolves each reference of the command line, or of standard input for -, and acts on it. All are tried.
func All(p *ui.Program, a Accepts, act func(*cli.Context, *starter.Client, Target) error) cli.ActionFunc {
	return p.Connected(func(ctx *cli.Context, client *starter.Client) error {
		return Each(p, ctx, func(text string) error {
			t, err := a.Resolve(ctx.Context, client, text)
			if err != nil {
				return err
			}
			return act(ctx, client, t)
		})
	})
}

// Optional is [All] for a command that has a meaning without a reference, too. Its target is then empty.
func Optional(p *ui.Program, a Accepts, act func(*cli.Context, *starter.Client, Target) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if ctx.Args().Len() > 0 {
			return All(p, a, act)(ctx)
		}
		return p.Connected(func(ctx *cli.Context, client *starter.Client) error { return act(ctx, client, Target{}) })(ctx)
	}
}

// On is [All] for a command with flags that some targets do not have: a flag that has no effect on a target is refused.
func On(p *ui.Program, a Accepts, effect func(*cli.Context, *starter.Client, Target) (Effect, error)) cli.ActionFunc {
	return All(p, a, func(ctx *cli.Context, client *starter.Client, t Target) error {
		e, err := effect(ctx, client, t)
		if err != nil {
			return err
		}
		return e.Run(ctx)
	})
}

// Run acts, unless the command line has a flag without effect.
func (e Effect) Run(ctx *cli.Context) error {
	for _, flag := range ctx.Command.Flags {
		name := flag.Names()[0]
		category, _ := flag.(cli.CategorizableFlag)
		if ctx.IsSet(name) && !slices.Contains(e.Flags, name) && (category == nil || category.GetCategory() != ui.CategoryCommon) {
			return ui.Usagef("--%s has no effect on %s: leave it out, or see %s --help", name, e.Of, ui.HelpName(ctx))
		}
	}
	return e.Do()
}

// Each runs one action for every reference of the command line, or every line of standard input for -. All are tried.
func Each(p *ui.Program, ctx *cli.Context, act func(text string) error) error {
	texts := ctx.Args().Slice()
	if len(texts) == 1 && texts[0] == ui.StdinName {
		read, err := p.ReadSpec(ui.StdinName)
		if err != nil {
			return err
		}
		texts = linesOf(string(read))
	}
	var faults []error
	p.Several = len(texts) > 1
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

func linesOf(text string) []string {
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return slices.DeleteFunc(all, func(line string) bool { return strings.TrimSpace(line) == "" })
}
