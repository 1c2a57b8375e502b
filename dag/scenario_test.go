package dag_test

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/internal/scenario"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of the scenarios again")

// TestScenarios runs the files under testdata.
//
//	graph [concurrency=N] [stop] [hold]   declare tasks and prepare a run; one task per line:
//	                                      ID [needs A,B] [rule=R] [priority=N] [free] [gated] [payload=P]
//	<event> [TASK]                        one event; the output lists the changes, then the decisions.
//	                                      With input lines like those of graph, and before A,B, the event
//	                                      carries a growth.
//	state                                 all tasks by state
//	snapshot                              replace the run by a restored one
//	new-run RUN [from=A,B] [also=A,B] [accept]  replace the run by one that resumes it; tasks in the
//	                                      input make a changed graph
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, "testdata/*.txt", *rewrite, func(t *testing.T) func(scenario.Command) string {
		t.Helper()
		s := &stage{t: t}
		return s.answer
	})
}

type stage struct {
	t     *testing.T
	graph *dag.Graph
	run   *dag.Run
	opts  dag.Options
}

func (s *stage) answer(c scenario.Command) string {
	switch c.Name {
	case "graph":
		return s.declare(c)
	case "state":
		return s.states()
	case "snapshot":
		data := s.run.Snapshot()
		run, err := dag.Restore(s.graph, data)
		if err != nil {
			return err.Error()
		}
		s.run = run
		return "ok"
	case "new-run":
		return s.resume(c)
	}
	for k := dag.EventStart; k <= dag.EventRelease; k++ {
		if k.String() == c.Name {
			return s.event(k, c)
		}
	}
	s.t.Fatalf("%s: unknown command %s", c.Place, c.Name)
	return ""
}

func (s *stage) options(args []string) {
	s.opts = dag.Options{}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "concurrency":
			s.opts.Concurrency, _ = strconv.Atoi(value)
		case "stop":
			s.opts.OnFailure = dag.Stop
		case "chain": // chain=drain,check:1:stop
			parts := strings.Split(value, ":")
			entries := strings.Split(parts[0], ",")
			limit, _ := strconv.Atoi(parts[1])
			c := dag.Chain{Entries: entries, InFlight: limit}
			if len(parts) > 2 {
				c.OnFailure = dag.Stop
			}
			s.opts.Chains = map[string]dag.Chain{entries[0]: c}
		case "hold":
			s.opts.Hold = true
		default:
			s.t.Fatalf("unknown option %s", a)
		}
	}
}

func (s *stage) additions(input string) []dag.Addition {
	var out []dag.Addition
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		a := dag.Addition{Task: dag.Task{ID: words[0]}}
		for k := 1; k < len(words); k++ {
			key, value, _ := strings.Cut(words[k], "=")
			switch key {
			case "needs":
				k++
				a.Needs = strings.Split(words[k], ",")
			case "before":
				k++
				a.Before = strings.Split(words[k], ",")
			case "rule":
				if err := a.Rule.UnmarshalText([]byte(value)); err != nil {
					s.t.Fatal(err)
				}
			case "priority":
				n, _ := strconv.Atoi(value)
				a.Priority = int32(n)
			case "free":
				a.Unmetered = true
			case "gated":
				a.Gated = true
			case "payload":
				a.Payload = []byte(value)
			default:
				s.t.Fatalf("unknown attribute %s", words[k])
			}
		}
		out = append(out, a)
	}
	return out
}

func (s *stage) input(text string) dag.Input {
	var in dag.Input
	for _, a := range s.additions(text) {
		in.Tasks = append(in.Tasks, a.Task)
	}
	return in
}

func (s *stage) declare(c scenario.Command) string {
	s.options(c.Args)
	g, err := dag.Build(s.input(c.Input))
	if err != nil {
		return err.Error()
	}
	s.graph, s.run = g, dag.NewRun(g, s.opts)
	return fmt.Sprintf("%d tasks, %d dependencies", g.Len(), g.Edges())
}

func (s *stage) event(k dag.EventKind, c scenario.Command) string {
	ev := dag.Event{Kind: k, Task: dag.None}
	if len(c.Args) > 0 {
		if k == dag.EventSetConcurrency {
			ev.Limit, _ = strconv.Atoi(c.Args[0])
		} else if i, ok := s.run.Lookup(c.Args[0]); ok {
			ev.Task = i
		} else {
			s.t.Fatalf("%s: no task %s", c.Place, c.Args[0])
		}
	}
	if c.Input != "" {
		ev.Growth = &dag.Growth{Tasks: s.additions(c.Input)}
	}
	decisions, err := s.run.Next(ev, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, m := range s.run.Transitions() {
		if m.To != dag.Running {
			fmt.Fprintf(&b, "%s: %s → %s\n", s.run.ID(m.Task), m.From, m.To)
		}
	}
	for _, d := range decisions {
		switch d.Kind {
		case dag.DecisionStart, dag.DecisionProceed, dag.DecisionCancel:
			fmt.Fprintf(&b, "%s %s\n", d.Kind, s.run.ID(d.Task))
		case dag.DecisionHold:
			b.WriteString("hold\n")
		case dag.DecisionFinish:
			fmt.Fprintf(&b, "finish %s\n", d.Outcome)
		}
	}
	if len(decisions) == 0 {
		b.WriteString("nothing to do\n")
	}
	return b.String()
}

func (s *stage) states() string {
	var b strings.Builder
	for _, st := range dag.States() {
		var ids []string
		for i := range dag.Index(s.run.Len()) {
			if s.run.State(i) == st {
				id := s.run.ID(i)
				if from := s.run.From(i); from != "" {
					id += "(" + from + ")"
				}
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", st, strings.Join(ids, " "))
		}
	}
	return b.String()
}

func (s *stage) resume(c scenario.Command) string {
	req := dag.ResumeRequest{Run: c.Args[0]}
	for _, a := range c.Args[1:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "from":
			req.From = strings.Split(value, ",")
		case "also":
			req.Also = strings.Split(value, ",")
		case "accept":
			req.AcceptDiff = true
		}
	}
	next := s.graph
	if c.Input != "" {
		g, err := dag.Build(s.input(c.Input))
		if err != nil {
			return err.Error()
		}
		next = g
	}
	run, plan, err := dag.Resume(s.run, next, s.opts, req)
	if err != nil {
		return "error: " + err.Error()
	}
	s.graph, s.run = next, run
	var b strings.Builder
	b.WriteString("imported:")
	for _, m := range plan.Imported {
		fmt.Fprintf(&b, " %s(%s)", run.ID(m.Task), m.From)
	}
	b.WriteString("\nexecuted:")
	for _, i := range plan.Executed {
		b.WriteString(" " + run.ID(i))
	}
	if len(plan.Dropped) > 0 {
		fmt.Fprintf(&b, "\ndropped: %s", strings.Join(plan.Dropped, " "))
	}
	if !plan.Diff.Empty() {
		fmt.Fprintf(&b, "\nadded %v changed %v removed %v", plan.Diff.Added, plan.Diff.Changed, plan.Diff.Removed)
	}
	return b.String()
}
