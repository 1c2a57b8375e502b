package dag

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

// TaskLine is a task as it would run. <TASK.KEY> stands for a result that is unknown before the run.
type TaskLine struct {
	Task    string   `json:"task"`
	Kind    string   `json:"kind"`
	Command []string `json:"command,omitempty"`
	// Detail replaces the command of other kinds: the job type, the file, the prompt, the time.
	Detail string            `json:"detail,omitempty"`
	Node   string            `json:"node,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Params map[string]any    `json:"params,omitempty"`
	// Program has the other keys of a program: user, dir and so on.
	Program map[string]any `json:"program,omitempty"`
	// Error is the reason why the templates cannot be filled in.
	Error string `json:"error,omitempty"`
}

// resultPath matches a reference to a result in a template, from the name of its first key on.
var resultPath = regexp.MustCompile(`\.Result((?:\.[A-Za-z0-9_]+)+)`)

func taskLines(compiled *spec.Compiled, now time.Time) ([]TaskLine, error) {
	program, err := spec.Open(dag.NewRun(compiled.Graph, dag.Options{}))
	if err != nil {
		return nil, fmt.Errorf("read the graph: %w", err)
	}
	program.About = jobtype.RunInfo{ID: contract.DAGWorkflowID(program.Header.Name, "RUN"), StartedAt: now, ScheduledAt: now}
	lines := make([]TaskLine, compiled.Graph.Len())
	for i := range dag.Index(compiled.Graph.Len()) {
		definition, err := program.Definition(i)
		if err != nil {
			return nil, fmt.Errorf("read a task: %w", err)
		}
		line := TaskLine{Task: compiled.Graph.ID(i), Kind: string(definition.Kind), Detail: detailOf(definition)}
		rendered, err := program.Render(i, func(need dag.Index) []byte { return placeholders(compiled.Graph.ID(need), definition) })
		switch {
		case err != nil:
			line.Error = err.Error()
		case rendered.Run:
			line.Command, line.Node, line.Labels, line.Params, line.Program = rendered.Command, rendered.Node, rendered.Labels, rendered.Params, rendered.Launch
			if rendered.Prompt != "" {
				line.Detail = rendered.Prompt
			}
		default:
			line.Detail = "skipped unless " + definition.When
		}
		lines[i] = line
	}
	return lines, nil
}

func detailOf(d *spec.Definition) string {
	switch {
	case d.JobType != "":
		return d.JobType
	case d.Sleep > 0:
		return d.Sleep.String()
	case d.SubDAG != nil:
		return d.SubDAG.File
	}
	return ""
}

func placeholders(task string, d *spec.Definition) []byte {
	text, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	result := map[string]any{}
	for _, match := range resultPath.FindAllStringSubmatch(string(text), -1) {
		keys := strings.Split(match[1][1:], ".")
		within := result
		for _, key := range keys[:len(keys)-1] {
			deeper, ok := within[key].(map[string]any)
			if !ok {
				deeper = map[string]any{}
				within[key] = deeper
			}
			within = deeper
		}
		if last := keys[len(keys)-1]; within[last] == nil {
			within[last] = "<" + task + match[1] + ">"
		}
	}
	filled, err := json.Marshal(result)
	if err != nil {
		return nil
	}
	return filled
}

func (c *commands) printTaskLines(lines []TaskLine) {
	listed := ui.NewTable("TASK", "WHERE", "AS", "COMMAND")
	for _, line := range lines {
		what := action.Line(line.Command)
		if len(line.Command) == 0 {
			what = strings.TrimSpace(line.Kind + " " + line.Detail)
		}
		if line.Error != "" {
			what = line.Error
		}
		where := line.Node
		for _, key := range slices.Sorted(maps.Keys(line.Labels)) {
			where = strings.TrimSpace(where + " " + key + "=" + line.Labels[key])
		}
		as := ""
		if user, ok := line.Program["user"].(string); ok {
			as = user
		}
		listed.Add(ui.Textf("%s", line.Task), ui.Textf("%s", where), ui.Textf("%s", as), ui.Textf("%s", what))
		for _, hook := range hooksOf(line) {
			listed.Add(ui.Textf("hook %s", hook.Name), ui.Text(""), ui.Text(""), ui.Textf("%s", action.Line(hook.Command)))
		}
	}
	c.PrintTable(listed, "")
}

func hooksOf(line TaskLine) []launch.Hook {
	keys, err := json.Marshal(line.Program)
	if err != nil {
		return nil
	}
	read, err := launch.Decode(keys)
	if err != nil { // validate has refused the task.
		return nil
	}
	return read.Hooks.All()
}
