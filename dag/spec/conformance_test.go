package spec_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/internal/scenario"
	"github.com/roundsman/roundsman/dag/spec"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of the scenarios again")

// memory is a tree of files.
type memory map[string]string

func (m memory) ReadFile(name string) ([]byte, error) {
	text, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

// TestConformance runs the files under testdata. Each proves rules of docs/spec/001-dag.md by their
// number.
//
//	file NAME       remember a file
//	compile NAME    load and compile the input (or a remembered file), list the tasks
//	definition ID   show a task's definition
//	results         ID JSON lines: the results of tasks, for render
//	render ID       fill in a task's templates
//	enter ID        continue with the run of a sub-DAG
//	marshal         load the input and write it canonically
//	expand ID       read the input as the result of a task that names items
//	defer ID        read the input as the result of a task that continues
//	split ID        read the input as the result of a task
//	add             read the input as tasks to add
func TestConformance(t *testing.T) {
	t.Parallel()
	scenario.Run(t, "testdata/*.txt", *rewrite, func(t *testing.T) func(scenario.Command) string {
		t.Helper()
		b := &bench{t: t, files: memory{}, results: map[string]string{}}
		return b.answer
	})
}

type bench struct {
	t       *testing.T
	files   memory
	run     *dag.Run
	program *spec.Program
	results map[string]string
}

func (b *bench) answer(c scenario.Command) string {
	arg := strings.Join(c.Args, " ")
	if b.run == nil && slices.Contains([]string{"definition", "render", "split", "add", "expand", "defer"}, c.Name) {
		return "nothing is compiled"
	}
	switch c.Name {
	case "file":
		b.files[arg] = c.Input
		return ""
	case "compile":
		return b.compile(arg, c.Input)
	case "definition":
		return string(b.run.Payload(b.task(arg))) + string(b.run.Args(b.task(arg)))
	case "results":
		for line := range strings.Lines(c.Input) {
			id, result, _ := strings.Cut(strings.TrimSpace(line), " ")
			b.results[id] = result
		}
		return ""
	case "render":
		return b.render(arg)
	case "enter":
		return b.enter(arg)
	case "marshal":
		s, err := spec.Load("in.yaml", []byte(c.Input))
		if err != nil {
			return err.Error()
		}
		out, err := spec.Marshal(s)
		if err != nil {
			return err.Error()
		}
		return string(out)
	case "defer":
		d, err := spec.Defer(b.run, b.task(arg), []byte(c.Input))
		if err != nil {
			return err.Error()
		}
		if d == nil {
			return "it does not continue"
		}
		return growth(d.Growth) + "checkpoint " + string(d.Checkpoint)
	case "expand":
		e, err := b.program.Expand(b.task(arg), []byte(c.Input))
		if err != nil {
			return err.Error()
		}
		return growth(&dag.Growth{Tasks: e.Tasks}) + "result " + string(e.Rest)
	case "split":
		g, rest, err := spec.Split(b.run, b.task(arg), []byte(c.Input))
		if err != nil {
			return err.Error()
		}
		return growth(g) + "result " + string(rest)
	case "add":
		added, err := spec.ParseAdded(b.run, "added.yaml", []byte(c.Input))
		if err != nil {
			return err.Error()
		}
		trial, err := dag.Restore(b.run.Graph(), b.run.Snapshot())
		if err != nil {
			return err.Error()
		}
		if _, err := trial.Next(dag.Event{Kind: dag.EventStart}, nil); err != nil {
			return err.Error()
		}
		if _, err := trial.Next(dag.Event{Kind: dag.EventAddTasks, Growth: added.Growth}, nil); err != nil {
			return added.Blame(err).Error()
		}
		return growth(added.Growth)
	}
	b.t.Fatalf("%s: unknown command %s", c.Place, c.Name)
	return ""
}

func (b *bench) task(id string) dag.Index {
	i, ok := b.run.Lookup(id)
	if !ok {
		b.t.Fatalf("no task %q", id)
	}
	return i
}

func (b *bench) compile(name, input string) string {
	if name == "" {
		name = "in.yaml"
	}
	if input == "" {
		input = b.files[name]
	}
	b.run = nil
	sameEitherWay(b.t, name, []byte(input), b.files)
	s, err := spec.Load(name, []byte(input))
	if err != nil {
		return err.Error()
	}
	c, err := spec.Compile(s, b.files)
	if err != nil {
		return err.Error()
	}
	// Use decoded data, as a run does.
	g, err := dag.Decode(c.Graph.Encode())
	if err != nil {
		b.t.Fatal(err)
	}
	b.run = dag.NewRun(g, c.Header.Options())
	if b.program, err = spec.Open(b.run); err != nil {
		b.t.Fatal(err)
	}
	return describe(g)
}

func (b *bench) enter(id string) string {
	result := func(dag.Index) []byte { return nil }
	r, err := b.program.Render(b.task(id), result)
	if err != nil {
		return err.Error()
	}
	d, err := b.program.Definition(b.task(id))
	if err != nil {
		return err.Error()
	}
	data, err := b.program.SubGraph(d, r.Params)
	if err != nil {
		return err.Error()
	}
	g, err := dag.Decode(data)
	if err != nil {
		b.t.Fatal(err)
	}
	b.run = dag.NewRun(g, dag.Options{})
	if b.program, err = spec.Open(b.run); err != nil {
		b.t.Fatal(err)
	}
	return describe(g)
}

func describe(g *dag.Graph) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", g.Meta())
	for i := range dag.Index(g.Len()) {
		fmt.Fprintf(&out, "%s", g.ID(i))
		for k, d := range g.Needs(i) {
			sep := ","
			if k == 0 {
				sep = " <- "
			}
			fmt.Fprintf(&out, "%s%s", sep, g.ID(d))
		}
		if g.Rule(i) != dag.AllSuccess {
			fmt.Fprintf(&out, " %s", g.Rule(i))
		}
		if g.Priority(i) != 0 {
			fmt.Fprintf(&out, " priority=%d", g.Priority(i))
		}
		if g.Unmetered(i) {
			out.WriteString(" unmetered")
		}
		if g.Gated(i) {
			out.WriteString(" gated")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func growth(g *dag.Growth) string {
	if g == nil {
		return "no tasks\n"
	}
	var out strings.Builder
	for _, a := range g.Tasks {
		fmt.Fprintf(&out, "%s needs=%v before=%v %s%s\n", a.ID, a.Needs, a.Before, a.Payload, a.Args)
	}
	return out.String()
}

func (b *bench) render(id string) string {
	r, err := b.program.Render(b.task(id), func(i dag.Index) []byte {
		if text, ok := b.results[b.run.ID(i)]; ok {
			return []byte(text)
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("error (result gone: %t): %v", errors.Is(err, spec.ErrResultGone), err)
	}
	if !r.Run {
		return "skipped"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "command %q\n", r.Command)
	if r.Node != "" {
		fmt.Fprintf(&out, "node %s\n", r.Node)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		fmt.Fprintf(&out, "label %s=%s\n", k, r.Labels[k])
	}
	if r.Params != nil {
		fmt.Fprintf(&out, "params %v\n", r.Params)
	}
	if r.Launch != nil {
		fmt.Fprintf(&out, "launch %v\n", r.Launch)
	}
	if r.Prompt != "" {
		fmt.Fprintf(&out, "prompt %s\n", r.Prompt)
	}
	return out.String()
}
