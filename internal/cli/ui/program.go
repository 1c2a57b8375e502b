package ui

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Note writes a fault before the answer, once. An absent control plane ends the command with [ExitFailed].
func (c *Program) Note(err error) {
	if err == nil {
		return
	}
	text := "note: " + err.Error()
	if down, is := errors.AsType[*starter.ControlPlaneDownError](err); is {
		if c.partial {
			return // The same control plane is absent.
		}
		c.partial, text = true, c.Env.Own.Name()+": "+down.Error()
	}
	if !slices.Contains(c.noted, text) {
		c.noted = append(c.noted, text)
		c.Complain("%s", c.Env.Own.Text(text))
	}
}

// Incomplete writes why an answer lacks facts, before the answer, and once. The command ends with [ExitFailed].
func (c *Program) Incomplete(why string) {
	if !c.partial {
		c.partial = true
		c.Complain("%s: %s", c.Env.Own.Name(), c.Env.Own.Text(why))
	}
}

// Whole is err, with [ExitFailed] after an answer that is not whole.
func (c *Program) Whole(err error) error {
	if c.partial {
		return errors.Join(err, Silent(ExitFailed))
	}
	return err
}

// Print writes to standard output. Only the format is renamed: an argument may be the text of a user.
func (c *Program) Print(format string, args ...any) {
	fmt.Fprintln(c.Env.Stdout, Lines(fmt.Sprintf(c.Env.Own.Text(format), args...)))
}

// Complain is Print on standard error.
func (c *Program) Complain(format string, args ...any) {
	fmt.Fprintln(c.Env.Stderr, Lines(fmt.Sprintf(c.Env.Own.Text(format), args...)))
}

// Confirm returns true only after the answer yes.
func (c *Program) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(c.Env.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(c.Env.Stdin).ReadString('\n') // No answer is none.
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes", nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// ProgramName is how commands are typed.
const ProgramName = "roundsman"

// Done confirms an action: value as JSON, or a line for people.
func (c *Program) Done(ctx *cli.Context, value any, format string, args ...any) error {
	if WantsData(ctx) {
		return c.Answer(ctx, value)
	}
	c.Print(format, args...)
	return nil
}

// SettingsChanged confirms the changes of a set command.
func (c *Program) SettingsChanged(ctx *cli.Context, value map[string]any, what string, changed []contract.FieldChange) error {
	value["changed"] = lists.OrEmpty(changed)
	if len(changed) == 0 {
		return c.Done(ctx, value, "%s: it is so already", what)
	}
	lines := lists.Map(changed, func(field contract.FieldChange) string { return what + ": " + field.String() })
	return c.Done(ctx, value, "%s", strings.Join(lines, "\n"))
}

// Operator is the name that the audit log records: ROUNDSMAN_ACTOR, or the user.
func (c *Program) Operator() string {
	return cmp.Or(c.Env.getenv("ROUNDSMAN_ACTOR"), c.Env.getenv("SUDO_USER"), c.Env.getenv("USER"), c.Env.getenv("LOGNAME"), starter.SystemUser())
}

// Program is shared by all commands: the process, and the handlers of the binary besides the built-in ones.
type Program struct {
	Env      Env
	Handlers []jobtype.Handler
	// Wide and NoHeaders control tables, see [Program.PrintTable].
	Wide, NoHeaders bool
	// Several values are answered: JSON has a line each, YAML a document.
	Several bool
	// noted are the notes written. partial is set after one about an absent control plane.
	noted   []string
	partial bool
}

// Look takes from a command line how tables look.
func (c *Program) Look(ctx *cli.Context) {
	c.Wide, c.NoHeaders = ctx.String(FlagOutput) == OutputWide, ctx.Bool(FlagNoHeaders)
}
