package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

const (
	mostBoxes  = 300
	mostAround = 100
	// keptShapes bounds the graphs in memory: one of 100,000 tasks takes tens of megabytes.
	keptShapes = 4
	// graphGap is the minimum time between fetches: the map of 100,000 tasks has 130 kB.
	graphGap = 2 * time.Second
	// mostTurned bounds the boxes that are laid out in both directions.
	mostTurned  = 60
	graphHeight = 640
)

// The size of a box in pixels.
const (
	boxWidth  = 150
	boxHeight = 46
)

// RunGraph is a drawing of a run of a DAG.
type RunGraph struct {
	WorkflowID string         `json:"workflow_id"`
	DAG        string         `json:"dag"`
	Tasks      int            `json:"tasks"`
	Counts     map[string]int `json:"counts"`
	// Drawing has boxes and lines. It is missing for more than 300 boxes.
	Drawing *Drawing `json:"drawing,omitempty"`
	// One byte per task: an index into States and Roles, if Drawing does not contain all tasks.
	Map    []byte         `json:"map,omitempty"`
	States []string       `json:"states"`
	Roles  []explain.Role `json:"roles" doc:"The role of each state"`
	Shape  *Shape         `json:"shape,omitempty"`
	// Found lists the tasks whose id contains a text, the first 100 of FoundTotal.
	Found      []FoundTask `json:"found,omitempty"`
	FoundTotal int         `json:"found_total,omitempty"`
	// Task is the requested task. Omitted counts its neighbors missing in the drawing.
	Task    *starter.Item `json:"task,omitempty"`
	Omitted int           `json:"omitted,omitempty"`
	AsOf    time.Time     `json:"as_of"`
}

type graphInput struct {
	api.RunPath
	At    int      `query:"at" minimum:"0" doc:"Only the task with this number in the map, counted from 1, and those next to it"`
	Task  string   `query:"task" maxLength:"1000" doc:"Only this task and those next to it"`
	Open  []string `query:"open" maxItems:"100" doc:"Fan-outs whose tasks have boxes of their own"`
	Width int      `query:"width" minimum:"0" maximum:"10000" doc:"The pixels that are there: the drawing goes down where that is easier to read"`
	Shape bool     `query:"shape" doc:"Only the places of all tasks in the map"`
	Find  string   `query:"find" maxLength:"1000" doc:"Only the tasks whose id contains this text"`
}

type shapes struct {
	mu   sync.Mutex
	kept []starter.DAGShape
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
			return RunGraph{}, problem.Newf(http.StatusConflict, problem.CodeRefused, "%s is a run of a job type; this is for runs of DAGs", ref)
		}
		answer := RunGraph{WorkflowID: ref.WorkflowID, AsOf: time.Now().UTC()}
		picture, shape, err := call.Client.DAGs().Picture(ctx, ref, known.of(ref.WorkflowID))
		if err != nil {
			return answer, err
		}
		known.keep(ref.WorkflowID, shape)
		answer.counted(picture)
		if in.Shape {
			answer.Shape = shapeOf(picture)
			return answer, nil
		}
		if in.Find != "" {
			answer.find(picture, *in)
			return answer, nil
		}
		view := &graphView{ctx: ctx, client: call.Client, picture: picture, items: map[int]starter.Item{}}
		view.live(answer.Counts)
		if in.At > 0 || in.Task != "" {
			return answer, answer.around(view, *in)
		}
		return answer, answer.whole(view, *in)
	})
}

const needsApproval = "needs_approval"

const mostWeighed = 5000

func critical(picture starter.DAGPicture, task func(int) starter.Item) []int {
	n := picture.Len()
	if n > mostWeighed {
		return nil
	}
	now := time.Now()
	return chain(n, picture.Needs, picture.Dependants, func(i int) time.Duration {
		one := task(i)
		switch {
		case one.StartedAt.IsZero():
			return 0
		case one.EndedAt.IsZero():
			return max(now.Sub(one.StartedAt), 0)
		}
		return one.EndedAt.Sub(one.StartedAt)
	})
}

func (g *RunGraph) counted(picture starter.DAGPicture) {
	g.DAG, g.Tasks, g.Counts, g.States = picture.DAG, picture.Len(), map[string]int{}, starter.TaskStates()
	for _, state := range g.States {
		g.Roles = append(g.Roles, explain.ItemRole(state))
	}
	for i := range picture.Len() {
		g.Counts[picture.State(i)]++
	}
}

func (g *RunGraph) whole(view *graphView, in graphInput) error {
	groups := groupsOf(view.picture, every(view.picture.Len()), in.Open)
	if len(groups) <= mostBoxes {
		if err := g.draw(view, groups, critical(view.picture, view.task), in.Width); err != nil {
			return err
		}
	}
	if g.Drawing == nil || len(g.Drawing.Boxes) < g.Tasks {
		g.Map = make([]byte, view.picture.Len())
		for i := range g.Map {
			g.Map[i] = byte(slices.Index(g.States, view.picture.State(i))) //nolint:gosec // there are nine
		}
		g.States, g.Roles = append(slices.Clip(g.States), needsApproval), append(g.Roles, explain.RolePerson)
		for i, item := range view.items {
			if explain.TaskRole(item.Kind, item.State) == explain.RolePerson {
				g.Map[i] = byte(len(g.States) - 1) //nolint:gosec // there are ten
			}
		}
	}
	return nil
}

func (g *RunGraph) around(view *graphView, in graphInput) error {
	picture := view.picture
	at, known := picture.Index(in.Task)
	if in.At > 0 {
		at, known = in.At-1, in.At <= picture.Len()
	}
	if !known {
		return problem.Newf(http.StatusNotFound, problem.CodeNotFound, "%s has no such task", g.WorkflowID)
	}
	task := view.task(at)
	needs, after := picture.Needs(at), picture.Dependants(at)
	g.Omitted = max(len(needs)-mostAround, 0) + max(len(after)-mostAround, 0)
	shown := slices.Concat(needs[:min(len(needs), mostAround)], []int{at}, after[:min(len(after), mostAround)])
	slices.Sort(shown)
	shown = slices.Compact(shown)
	groups := lists.Map(shown, func(i int) group { return group{name: picture.ID(i), tasks: []int{i}} })
	g.Task = &starter.Listed([]starter.Item{task})[0]
	return g.draw(view, groups, nil, in.Width)
}

func (g *RunGraph) draw(view *graphView, groups []group, path []int, width int) error {
	boxes := map[int]int{}
	for k, of := range groups {
		for _, i := range of.tasks {
			boxes[i] = k
		}
	}
	lines, blocked := linesOf(view.picture, groups, boxes)
	drawn := draw.Picture{Title: view.picture.DAG, Run: true, BoxWidth: boxWidth, BoxHeight: boxHeight, Tasks: make([]draw.Task, len(groups))}
	for k := range groups {
		drawn.Tasks[k].ID = strconv.Itoa(k)
		for _, from := range lines[k] {
			drawn.Tasks[k].Needs = append(drawn.Tasks[k].Needs, strconv.Itoa(from))
		}
	}
	laid, ok, err := drawn.Layout(mostBoxes)
	if err != nil || !ok {
		return err
	}
	if scale := scaleOf(laid, width); scale < 1 && len(groups) <= mostTurned {
		drawn.Down = true
		down, _, err := drawn.Layout(mostBoxes)
		if err != nil {
			return err
		}
		if scaleOf(down, width) > scale {
			laid = down
		}
	}
	on, steps := map[int]bool{}, map[[2]int]bool{}
	for k, i := range path {
		if box, shown := boxes[i]; shown {
			on[box] = true
			if k > 0 {
				steps[[2]int{boxes[path[k-1]], box}] = true
			}
		}
	}
	g.Drawing = &Drawing{Width: laid.Width, Height: laid.Height, Boxes: make([]Box, len(groups)), Edges: make([]Edge, len(laid.Edges))}
	for k, of := range groups {
		box := boxOf(of, view.tasks(of.tasks))
		box.Critical = on[k]
		box.X, box.Y, box.Width, box.Height = laid.Boxes[k].X, laid.Boxes[k].Y, laid.Boxes[k].Width, laid.Boxes[k].Height
		g.Drawing.Boxes[k] = box
	}
	for k, e := range laid.Edges {
		pair := [2]int{e.From, e.To}
		g.Drawing.Edges[k] = Edge{From: e.From, To: e.To, Path: e.Path, Critical: steps[pair], Blocked: blocked[pair]}
	}
	view.subDAGs(groups, g.Drawing.Boxes)
	return nil
}

func scaleOf(of draw.Drawing, width int) float64 {
	if width == 0 {
		return 1
	}
	return min(float64(width)/of.Width, graphHeight/of.Height, 1)
}

// linesOf also returns the pairs in which a failed need keeps a task from running.
func linesOf(picture starter.DAGPicture, groups []group, boxes map[int]int) (lines [][]int, blocked map[[2]int]bool) {
	lines, blocked = make([][]int, len(groups)), map[[2]int]bool{}
	seen := map[[2]int]bool{}
	for k, of := range groups {
		for _, i := range of.tasks {
			stopped := picture.State(i) == dag.UpstreamFailed.String()
			for _, need := range picture.Needs(i) {
				from, shown := boxes[need]
				if pair := [2]int{from, k}; shown && from != k {
					if !seen[pair] {
						seen[pair] = true
						lines[k] = append(lines[k], from)
					}
					if state := picture.State(need); stopped && (state == dag.Failed.String() || state == dag.UpstreamFailed.String() || state == dag.Canceled.String()) {
						blocked[pair] = true
					}
				}
			}
		}
	}
	return lines, blocked
}

func every(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
