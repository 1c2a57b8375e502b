package dag

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const (
	flagCommands = "commands"
	flagSchema   = "schema"
)

// SpecReport is one file in the output of `validate`.
type SpecReport struct {
	File   string      `json:"file"`
	Valid  bool        `json:"valid"`
	DAG    string      `json:"dag,omitempty"`
	Tasks  int         `json:"tasks,omitempty"`
	Edges  int         `json:"dependencies,omitempty"`
	Depth  int         `json:"depth,omitempty"`
	Bytes  int         `json:"bytes,omitempty"`
	Faults spec.Faults `json:"faults"`
	// Warnings are likely mistakes of a valid file.
	Warnings spec.Faults `json:"warnings"`
	// Commands lists the tasks as they would run, on request.
	Commands []TaskLine `json:"commands,omitempty"`
}

func (c *commands) dagValidate() *cli.Command {
	return &cli.Command{
		Name: "validate", ArgsUsage: "[FILE...]", Usage: "check specs: all faults at once, with file, line and column",
		Description: specArgument + `

No server is asked. The exit code is 3 if there is a fault. A DAG that is too large to be sent to
a server is one.

Examples:
  roundsman validate maintenance.yaml
  roundsman validate dags/rolling.yaml dags/nightly.yaml
  generate-dag | roundsman validate - --output json | jq -r '.files[].faults[].message'`,
		Flags: []cli.Flag{
			newParamFlag(), ui.OutputFlag(), &cli.BoolFlag{Name: flagCommands, Usage: "print each task as it would run"},
			&cli.BoolFlag{Name: flagSchema, Usage: "print the JSON Schema of a DAG, for editors, and check nothing"},
		},
		Action: func(ctx *cli.Context) error {
			switch {
			case ctx.Bool(flagSchema):
				return c.printSchema()
			case ctx.Args().Len() == 0:
				return ui.Usagef("FILE is missing: see %s --help", ui.HelpName(ctx))
			}
			reports, valid := []SpecReport{}, true
			for _, name := range ctx.Args().Slice() {
				report, err := c.checkSpec(name, paramsOf(ctx), ctx.Bool(flagCommands))
				if err != nil {
					return err
				}
				valid = valid && report.Valid
				reports = append(reports, report)
			}
			return c.printSpecReports(ctx, reports, valid)
		},
	}
}

func (c *commands) printSchema() error {
	schema, err := spec.Schema()
	if err == nil {
		_, err = c.Env.Stdout.Write(schema)
	}
	return err
}

// checkSpec validates one file. The error is for faults outside the text: an unreadable file, an unknown param.
func (c *commands) checkSpec(name string, params [][2]string, commands bool) (SpecReport, error) {
	report := SpecReport{File: name, Faults: spec.Faults{}, Warnings: spec.Faults{}}
	compiled, err := c.compileSpec(name, params)
	if faults, ok := errors.AsType[spec.Faults](err); ok {
		report.Faults = faults
		return report, nil
	}
	if err != nil {
		return report, err
	}
	report.DAG, report.Tasks, report.Edges = compiled.Header.Name, compiled.Graph.Len(), compiled.Graph.Edges()
	report.Depth = depth(compiled.Graph)
	report.Bytes, err = travelSize(compiled)
	if tooLarge, ok := errors.AsType[*starter.DAGTooLargeError](err); ok {
		report.Faults = spec.Faults{{File: name, Message: tooLarge.Error()}}
		return report, nil
	}
	if err != nil {
		return report, err
	}
	report.Valid, report.Warnings = true, ui.OrEmpty(filesIn(filepath.Dir(name), compiled.Warnings()))
	if commands {
		report.Commands, err = taskLines(compiled, c.Env.Now())
	}
	return report, err
}

func depth(graph *dag.Graph) int {
	waits := make([]int, graph.Len())
	level := make([]int, graph.Len())
	var queue []dag.Index
	for i := range dag.Index(graph.Len()) {
		if waits[i] = len(graph.Needs(i)); waits[i] == 0 {
			level[i] = 1
			queue = append(queue, i)
		}
	}
	deepest := 0
	for head := 0; head < len(queue); head++ {
		i := queue[head]
		deepest = max(deepest, level[i])
		for _, next := range graph.Dependants(i) {
			level[next] = max(level[next], level[i]+1)
			if waits[next]--; waits[next] == 0 {
				queue = append(queue, next)
			}
		}
	}
	return deepest
}

func (c *commands) printSpecReports(ctx *cli.Context, reports []SpecReport, valid bool) error {
	if ui.WantsData(ctx) {
		if err := c.Answer(ctx, map[string]any{"valid": valid, "files": reports}); err != nil {
			return err
		}
	} else {
		for _, report := range reports {
			c.printSpecReport(report)
		}
	}
	if !valid {
		return ui.Silent(ui.ExitUsage)
	}
	return nil
}

func (c *commands) printSpecReport(report SpecReport) {
	for _, warning := range report.Warnings {
		c.Complain("warning: %s", warning.Error())
	}
	if report.Valid {
		// The counts show whether the file matches the intention.
		c.Print("%s: DAG %s is valid: %s, %s, %s deep, %.1f KB to send", report.File, report.DAG,
			ui.Plural(report.Tasks, "task"), dependencies(report.Edges), ui.Plural(report.Depth, "task"), float64(report.Bytes)/1000)
		if len(report.Commands) > 0 {
			c.printTaskLines(report.Commands)
		}
		return
	}
	for _, fault := range report.Faults {
		fmt.Fprintln(c.Env.Stderr, fault.Error())
	}
	c.Complain("%s: %s", report.File, ui.Plural(len(report.Faults), "fault"))
}

func dependencies(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}
