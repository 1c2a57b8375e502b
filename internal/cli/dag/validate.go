package dag

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
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

// Validate checks specs without a server. A DAG that is too large to be sent to a server has a fault.
func Validate(p *ui.Program, ctx *cli.Context, files ...string) error {
	c := &commands{p}
	reports, valid := []SpecReport{}, true
	for _, name := range files {
		report, err := c.checkSpec(name, nil, false)
		if err != nil {
			return err
		}
		valid = valid && report.Valid
		reports = append(reports, report)
	}
	return c.printSpecReports(ctx, reports, valid)
}

// DryRun checks a spec and prints each task as it would run.
func DryRun(p *ui.Program, ctx *cli.Context, file string) error {
	for _, flag := range []string{ui.FlagAddress, ui.FlagNamespace} {
		if ctx.IsSet(flag) {
			return ui.Usagef("--%s has no effect with --dry-run on a file, which uses no server: leave it out", flag)
		}
	}
	c := &commands{p}
	report, err := c.checkSpec(file, ui.Pairs(ctx, ui.FlagParam), true)
	if err != nil {
		return err
	}
	return c.printSpecReports(ctx, []SpecReport{report}, report.Valid)
}

// PrintSchema prints the JSON Schema of a DAG, for editors.
func PrintSchema(p *ui.Program) error {
	schema, err := spec.Schema()
	if err == nil {
		_, err = p.Env.Stdout.Write(schema)
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
	report.Valid, report.Warnings = true, lists.OrEmpty(filesIn(filepath.Dir(name), compiled.Warnings()))
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
