package dagrun_test

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// The kinds of decision that only a graph has.
const (
	startNoop run.Kind = 100 + iota
	startDAG
	insist
	lookUp
	releaseLane
	requestLane
	grantLane
	endRun
)

// decision is any command of a graph.
type decision struct {
	run.Decision

	Job     *dagrun.Job
	Graph   []byte
	Grace   time.Duration
	Outcome dag.Outcome
	Keep    *contract.KeyResult
}

// graph drives a graph by calls, and returns its commands as decisions.
type graph struct {
	*dagrun.Graph

	endings []contract.TaskEnding
	// last is the last command of the last step.
	last source.Command
}

func newGraph(r *dag.Run, cfg dagrun.Config, now time.Time) (*graph, error) {
	g, err := dagrun.New(r, cfg, now)
	return &graph{Graph: g}, err
}

func restoreGraph(compiled *dag.Graph, data []byte, cfg dagrun.Config, now time.Time) (*graph, error) {
	g, err := dagrun.Restore(compiled, data, cfg, now)
	return &graph{Graph: g}, err
}

func (g *graph) Next(now time.Time, event source.Event) (list []decision) {
	for _, command := range g.Graph.Next(now, event) {
		g.last = command
		switch c := command.(type) {
		case run.Decision:
			list = append(list, decision{Decision: c})
		case source.Acquire:
			list = append(list, decision{Decision: c.Decision, Grace: c.Grace})
		case source.GrantLane:
			list = append(list, decision{Decision: run.Decision{Kind: grantLane, Item: c.Job, Attempt: c.Attempt, Ask: c.Seq}})
		case dagrun.StartJob:
			list = append(list, decision{Decision: c.Decision, Job: &c.Job})
		case dagrun.StartNoop:
			c.Kind = startNoop
			list = append(list, decision{Decision: c.Decision})
		case dagrun.StartDAG:
			c.Kind = startDAG
			list = append(list, decision{Decision: c.Decision, Graph: c.Graph})
		case dagrun.Insist:
			list = append(list, decision{Decision: run.Decision{Kind: insist, Item: c.Item, Reason: c.Reason}})
		case dagrun.LookUp:
			list = append(list, decision{Decision: run.Decision{Kind: lookUp, Item: run.WholeRun, Work: c.JobType}})
		case dagrun.ReportLane:
			kind := releaseLane
			if c.Wants {
				kind = requestLane
			}
			list = append(list, decision{Decision: run.Decision{Kind: kind, Item: run.WholeRun, Ask: c.Seq}})
		case dagrun.ReleaseKey:
			list = append(list, decision{Decision: c.Decision, Keep: &c.Result})
		case dagrun.ReportEndings:
			g.endings = append(g.endings, c.Endings...)
		case dagrun.End:
			list = append(list, decision{Decision: run.Decision{Kind: endRun, Item: run.WholeRun, Reason: c.Reason}, Outcome: c.Outcome})
		default:
			panic(command)
		}
	}
	return list
}

func (g *graph) Observe(now time.Time, events, bytes, ordered int) {
	g.Engine().Observe(now, events, bytes, ordered)
}

func (g *graph) Notes() []run.Note { return g.Engine().Notes() }

func (g *graph) Endings() []contract.TaskEnding {
	taken := g.endings
	g.endings = nil
	return taken
}

func (g *graph) Start(now time.Time) []decision { return g.Next(now, dagrun.Started{}) }

func (g *graph) Pause(now time.Time, by, note string) []decision {
	return g.Next(now, source.Paused{By: by, Note: note})
}

func (g *graph) Resume(now time.Time) []decision { return g.Next(now, source.Resumed{}) }

func (g *graph) CancelRun(now time.Time, reason string) []decision {
	return g.Next(now, source.Canceled{Reason: reason})
}

func (g *graph) Operate(now time.Time, request dagrun.Request) ([]decision, []string, error) {
	decisions := g.Next(now, request)
	return decisions, g.Answer().Changed, g.Answer().Err
}

func (g *graph) Redefined() []string { return g.Answer().Redefined }

func (g *graph) StopTask(now time.Time, hold contract.AdmissionHold) []decision {
	return g.Next(now, dagrun.TaskStopped{Hold: hold})
}

func (g *graph) SetJobType(now time.Time, name string, found dagrun.JobType, problem string) []decision {
	return g.Next(now, dagrun.JobTypeKnown{Name: name, Found: found, Problem: problem})
}

func (g *graph) LaneGranted(now time.Time, seq int) []decision {
	return g.Next(now, dagrun.LaneGranted{Seq: seq})
}

func (g *graph) LaneReported(now time.Time, r breaks.Report) []decision {
	return g.Next(now, source.LaneReported{Report: r})
}
