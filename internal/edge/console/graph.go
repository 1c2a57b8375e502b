package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
)

const (
	// mostBoxes is the largest number of tasks drawn as boxes.
	mostBoxes = 300
	// mostAround bounds the tasks drawn before one task, and those after it.
	mostAround = 100
	// keptShapes bounds the graphs in memory: one of 100,000 tasks takes tens of megabytes.
	keptShapes = 4
	// graphGap is the minimum time between fetches: the map of 100,000 tasks has 130 kB.
	graphGap = 2 * time.Second
)

// RunGraph is a drawing of a run of a DAG.
type RunGraph struct {
	WorkflowID string         `json:"workflow_id"`
	DAG        string         `json:"dag"`
	Tasks      int            `json:"tasks"`
	Counts     map[string]int `json:"counts"`
	// Drawing has boxes and lines. It is missing for more than 300 tasks.
	Drawing *draw.Drawing `json:"drawing,omitempty"`
	// Map has one byte per task in declaration order: an index into States. It is set if Drawing
	// does not contain all tasks.
	Map    []byte   `json:"map,omitempty"`
	States []string `json:"states"`
	// Task is the requested task. Omitted counts its neighbors missing in the drawing.
	Task    *starter.Item `json:"task,omitempty"`
	Omitted int           `json:"omitted,omitempty"`
	AsOf    time.Time     `json:"as_of"`
}

type graphInput struct {
	api.RunPath
	At   int    `query:"at" minimum:"0" doc:"Only the task with this number in the map, counted from 1, and those next to it"`
	Task string `query:"task" maxLength:"1000" doc:"Only this task and those next to it"`
}

type shapes struct {
	mu   sync.Mutex
	kept []starter.DAGShape
	// last is the workflow run last seen under each workflow id.
	last map[string]string
}

func (s *shapes) of(workflowID string) starter.DAGShape {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.kept, func(one starter.DAGShape) bool { return one.RunID == s.last[workflowID] })
	if at < 0 {
		return starter.DAGShape{}
	}
	return s.kept[at]
}

func (s *shapes) keep(workflowID string, shape starter.DAGShape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(one starter.DAGShape) bool { return one.RunID == shape.RunID })
	s.kept = append([]starter.DAGShape{shape}, s.kept[:min(len(s.kept), keptShapes-1)]...)
	for id, run := range s.last {
		if !slices.ContainsFunc(s.kept, func(one starter.DAGShape) bool { return one.RunID == run }) {
			delete(s.last, id)
		}
	}
	s.last[workflowID] = shape.RunID
}

func addGraph(a *api.API) {
	known := &shapes{last: map[string]string{}}
	api.Add(a, api.Operation{
		ID: "get-run-graph", Method: http.MethodGet, Path: "/runs/{run}/graph", Tag: "runs", Summary: "Draw a run of a DAG: boxes and lines, and one byte for each task of a large one",
		May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: api.Named,
		Live: api.LiveRun(graphGap),
	}, func(ctx context.Context, call *api.Call, in *graphInput) (RunGraph, error) {
		ref := in.Ref()
		if ref.Kind() != starter.KindDAG {
			return RunGraph{}, problem.Newf(http.StatusConflict, "REFUSED", "%s is a run of a job type; this is for runs of DAGs", ref)
		}
		answer := RunGraph{WorkflowID: ref.WorkflowID, AsOf: time.Now().UTC()}
		picture, shape, err := call.Client.DAGs().Picture(ctx, ref, known.of(ref.WorkflowID))
		if err != nil {
			return answer, err
		}
		known.keep(ref.WorkflowID, shape)
		err = answer.drawn(picture, *in)
		return answer, err
	})
}

func (g *RunGraph) drawn(picture starter.DAGPicture, in graphInput) error {
	g.DAG, g.Tasks, g.Counts, g.States = picture.DAG, picture.Len(), map[string]int{}, starter.TaskStates()
	states := make([]byte, picture.Len())
	for i := range states {
		state := picture.State(i)
		states[i] = byte(slices.Index(g.States, state)) //nolint:gosec // there are nine
		g.Counts[state]++
	}
	if in.At > 0 || in.Task != "" {
		return g.around(picture, in)
	}
	err := g.draw(picture, every(picture.Len()))
	if g.Drawing == nil || len(g.Drawing.Boxes) < g.Tasks {
		g.Map = states
	}
	return err
}

func (g *RunGraph) around(picture starter.DAGPicture, in graphInput) error {
	at, known := picture.Index(in.Task)
	if in.At > 0 {
		at, known = in.At-1, in.At <= picture.Len()
	}
	if !known {
		return problem.Newf(http.StatusNotFound, problem.CodeNotFound, "%s has no such task", g.WorkflowID)
	}
	task := picture.Task(at)
	needs, after := picture.Needs(at), picture.Dependants(at)
	g.Omitted = max(len(needs)-mostAround, 0) + max(len(after)-mostAround, 0)
	shown := slices.Concat(needs[:min(len(needs), mostAround)], []int{at}, after[:min(len(after), mostAround)])
	slices.Sort(shown)
	err := g.draw(picture, slices.Compact(shown))
	g.Task = &starter.Listed([]starter.Item{task})[0]
	return err
}

// draw lays out these tasks. It draws none if they are too many.
func (g *RunGraph) draw(picture starter.DAGPicture, tasks []int) error {
	drawn := draw.Picture{Title: picture.DAG, Run: true, Tasks: make([]draw.Task, 0, len(tasks))}
	for _, i := range tasks {
		task := picture.Task(i)
		drawn.Tasks = append(drawn.Tasks, draw.Task{ID: task.ID, Needs: task.Needs, Kind: task.Kind, State: task.State, Note: cmp.Or(task.Error, task.Waiting)})
	}
	collapse := draw.Never
	if len(tasks) > mostBoxes {
		collapse = draw.Always
	}
	drawing, ok, err := drawn.Layout(collapse, mostBoxes)
	if ok {
		g.Drawing = &drawing
	}
	return err
}

func every(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
