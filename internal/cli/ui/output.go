package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/jsonout"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// The values of --output.
const (
	OutputTable = "table"
	OutputWide  = "wide"
	OutputJSON  = "json"
	OutputYAML  = "yaml"
	OutputName  = "name"
)

// Formats are the values of --output in a command. Only lists and shown things have more columns and names.
func Formats(command *cli.Command) []string {
	for _, flag := range command.Flags {
		if more, ok := flag.(*FormatsFlag); ok {
			return append([]string{OutputTable, OutputWide, OutputJSON, OutputYAML, OutputName}, more.More...)
		}
	}
	if slices.ContainsFunc(command.Flags, func(flag cli.Flag) bool { return slices.Contains(flag.Names(), FlagNoHeaders) }) {
		return []string{OutputTable, OutputWide, OutputJSON, OutputYAML, OutputName}
	}
	return []string{OutputTable, OutputJSON, OutputYAML}
}

// FormatsFlag is an --output with more formats.
type FormatsFlag struct {
	*cli.StringFlag
	More []string
}

// WithFormats are the flags of a command that lists, whose --output has more formats.
func WithFormats(flags []cli.Flag, more ...string) []cli.Flag {
	for i, flag := range flags {
		if output, ok := flag.(*cli.StringFlag); ok && output.Name == FlagOutput {
			output.Usage = strings.Replace(output.Usage, "json,", strings.Join(more, ", ")+", json,", 1)
			flags[i] = &FormatsFlag{StringFlag: output, More: more}
		}
	}
	return flags
}

func format(c *cli.Context) string {
	if c.Bool(FlagJSON) {
		return OutputJSON
	}
	return c.String(FlagOutput)
}

// WantsJSON reports whether --output is json.
func WantsJSON(c *cli.Context) bool { return format(c) == OutputJSON }

// WantsData reports whether a program reads the answer. Then standard output has no texts for people.
func WantsData(c *cli.Context) bool {
	return slices.Contains([]string{OutputJSON, OutputYAML, OutputName}, format(c))
}

// WantsNames reports whether --output is name, which needs no details of the things listed.
func WantsNames(c *cli.Context) bool { return format(c) == OutputName }

// CheckOutput refuses a --output that the command does not have.
func CheckOutput(c *cli.Context) error {
	value, formats := c.String(FlagOutput), Formats(c.Command)
	if value == "" || slices.Contains(formats, value) {
		return nil
	}
	last := len(formats) - 1
	return Usagef("--output %s: must be %s or %s", value, strings.Join(formats[:last], ", "), formats[last])
}

// Answer prints value in the format of --output. names are the fields for --output name.
func (c *Program) Answer(ctx *cli.Context, value any, names ...string) error {
	if c.Several {
		return c.AnswerPart(ctx, value, names...)
	}
	return c.answer(format(ctx), value, "  ", "", names)
}

// AnswerPart prints one value of a stream: a line of JSON, or a YAML document.
func (c *Program) AnswerPart(ctx *cli.Context, value any, names ...string) error {
	return c.answer(format(ctx), value, "", "---\n", names)
}

func (c *Program) answer(format string, value any, indent, separator string, names []string) error {
	var text []byte
	var err error
	switch format {
	case OutputName:
		for _, name := range names {
			text = append(text, Printable(name)+"\n"...)
		}
	case OutputYAML:
		text, err = encodeYAML(value)
		text = append([]byte(separator), text...)
	default:
		text, err = jsonout.JSON(value, indent)
		text = escapeUnsafe(text)
	}
	if err == nil {
		_, err = c.Env.Stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// Names are the ids of a list, for --output name.
func Names[T any](list []T, name func(T) string) []string {
	return lists.Map(list, name)
}

// PrintTable prints a table. On a terminal its last column gives way; in a pipe nothing is cut.
func (c *Program) PrintTable(table *Table, empty string) {
	width := 0
	if c.Env.Terminal {
		width = c.Env.Width
	}
	table.Bare = table.Bare || c.NoHeaders
	if len(table.Rows) == 0 {
		c.Remark("%s", c.Env.Own.Text(empty))
		return
	}
	table.Write(c.Env.Stdout, c.Env.Colors(), c.Wide, width)
}

// PrintFields prints name: value lines.
func (c *Program) PrintFields(fields *Fields) {
	fields.Write(c.Env.Stdout, c.Env.Colors())
}

// Remark is a sentence next to a table. With --no-headers, standard output has rows alone.
func (c *Program) Remark(format string, args ...any) {
	if c.NoHeaders {
		c.Complain(format, args...)
		return
	}
	c.Print(format, args...)
}

// RolePaint colors a state by its role.
func RolePaint(role explain.Role) Paint {
	switch role {
	case explain.RolePlan:
		return Plain
	case explain.RoleDone:
		return Good
	case explain.RoleRunning:
		return Bold
	case explain.RoleFailed, explain.RoleTimeout:
		return Bad
	case explain.RolePartial, explain.RolePerson, explain.RolePaused, explain.RoleWaiting, explain.RoleSkipped, explain.RoleCanceled, explain.RoleUpstream, explain.RoleUnknown:
		return Odd
	}
	return Plain
}
