package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

// mostOpened bounds the tasks of an opened fan-out with a box of their own. The others stay in one box.
const mostOpened = 60

type group struct {
	name  string
	tasks []int
	// folds: the box opens into its tasks. rest: other tasks of the fan-out have boxes.
	folds, rest bool
}

// The tasks of opened fan-outs get boxes, the gravest first.
func groupsOf(picture starter.DAGPicture, tasks []int, opened []string) []group {
	var groups []group
	at := map[string]int{}
	for _, i := range tasks {
		name := spec.Entry(picture.ID(i))
		k, known := at[name]
		if !known {
			k = len(groups)
			at[name] = k
			groups = append(groups, group{name: name})
		}
		groups[k].tasks = append(groups[k].tasks, i)
	}
	var all []group
	for _, g := range groups {
		if len(g.tasks) > 1 && picture.ID(g.tasks[0]) == g.name {
			g.tasks = g.tasks[1:] // The others replace the task in place of the fan-out.
		}
		switch {
		case len(g.tasks) == 1:
			g.name = picture.ID(g.tasks[0])
			all = append(all, g)
		case slices.Contains(opened, g.name):
			all = append(all, separate(picture, g)...)
		default:
			g.folds = true
			all = append(all, g)
		}
	}
	return all
}

func separate(picture starter.DAGPicture, g group) []group {
	shown := slices.Clone(g.tasks)
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(gravity(picture.State(a)), gravity(picture.State(b))) })
	more := len(shown) > mostOpened
	shown = shown[:min(len(shown), mostOpened)]
	slices.Sort(shown)
	var all []group
	for _, i := range shown {
		all = append(all, group{name: picture.ID(i), tasks: []int{i}})
	}
	if !more {
		return all
	}
	g.rest = true
	g.tasks = slices.DeleteFunc(slices.Clone(g.tasks), func(i int) bool { _, is := slices.BinarySearch(shown, i); return is })
	return append(all, g)
}

// gravity orders states; the box of several tasks has the gravest.
func gravity(state string) int {
	return slices.Index([]string{"failed", "running", "ready", "upstream_failed", "canceled", "warning", "pending", "skipped", "completed"}, state)
}

// Box is a task, all tasks of a fan-out, or a sub-DAG. X and Y are its upper left corner.
type Box struct {
	// ID of the task or the fan-out. At is the number of its first task in the map, counted from 1.
	ID    string       `json:"id"`
	At    int          `json:"at"`
	Kind  string       `json:"kind"`
	State string       `json:"state"`
	Role  explain.Role `json:"role" enum:"failed,person,waiting,running,done,skipped,upstream,canceled,plan"`
	// Tasks in the box, or of the sub-DAG; 0 if unknown. Ended and Failed are parts of them.
	Tasks  int `json:"tasks"`
	Ended  int `json:"ended"`
	Failed int `json:"failed"`
	// Folds means that the box opens into its tasks, Rest that it has those which an opened fan-out leaves.
	Folds bool `json:"folds,omitempty"`
	Rest  bool `json:"rest,omitempty"`
	// Run is the run of a sub-DAG.
	Run string `json:"run,omitempty"`
	// Critical means that the longest chain of tasks goes through the box.
	Critical  bool      `json:"critical,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Note      string    `json:"note,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	X         float64   `json:"x"`
	Y         float64   `json:"y"`
	Width     float64   `json:"width"`
	Height    float64   `json:"height"`
}

// Edge leads from a box to its dependant. Path is the line as SVG path data.
type Edge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Path string `json:"path"`
	// Critical edges are on the longest chain. Blocked edges keep a task from running, since a need failed.
	Critical bool `json:"critical,omitempty"`
	Blocked  bool `json:"blocked,omitempty"`
}

// Drawing has boxes and lines with coordinates in pixels.
type Drawing struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Boxes  []Box   `json:"boxes"`
	Edges  []Edge  `json:"edges"`
}

func boxOf(g group, tasks []starter.Item) Box {
	gravest := slices.MinFunc(tasks, func(a, b starter.Item) int { return cmp.Compare(gravity(a.State), gravity(b.State)) })
	b := Box{
		ID: g.name, At: g.tasks[0] + 1, Kind: gravest.Kind, State: gravest.State, Role: explain.TaskRole(gravest.Kind, gravest.State),
		Tasks: len(tasks), Folds: g.folds, Rest: g.rest,
	}
	open := false
	for _, task := range tasks {
		if task.Standing.Ended {
			b.Ended++
		}
		if task.State == contract.JobFailed {
			b.Failed++
		}
		if !task.StartedAt.IsZero() && (b.StartedAt.IsZero() || task.StartedAt.Before(b.StartedAt)) {
			b.StartedAt = task.StartedAt
		}
		if task.EndedAt.After(b.EndedAt) {
			b.EndedAt = task.EndedAt
		}
		open = open || !task.Standing.Ended
	}
	if open {
		b.EndedAt = time.Time{}
	}
	if len(tasks) == 1 {
		b.Attempt, b.Note = tasks[0].Attempt, cmp.Or(tasks[0].Error, tasks[0].Waiting)
	}
	return b
}

func inOrder(n int, needs, dependants func(int) []int) []int {
	waits, queue := make([]int, n), make([]int, 0, n)
	for i := range n {
		if waits[i] = len(needs(i)); waits[i] == 0 {
			queue = append(queue, i)
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, k := range dependants(queue[head]) {
			if waits[k]--; waits[k] == 0 {
				queue = append(queue, k)
			}
		}
	}
	return queue
}

// chain returns the tasks of the longest chain of needs by duration, then by number of tasks.
func chain(n int, needs func(int) []int, dependants func(int) []int, took func(int) time.Duration) []int {
	type length struct {
		took  time.Duration
		tasks int
	}
	compare := func(a, b length) int { return cmp.Or(cmp.Compare(a.took, b.took), cmp.Compare(a.tasks, b.tasks)) }
	before, best := slices.Repeat([]int{-1}, n), make([]length, n)
	last := -1
	for _, i := range inOrder(n, needs, dependants) {
		best[i].took += took(i)
		best[i].tasks++
		if last < 0 || compare(best[i], best[last]) > 0 {
			last = i
		}
		for _, k := range dependants(i) {
			if before[k] < 0 || compare(best[i], best[k]) > 0 {
				best[k], before[k] = best[i], i
			}
		}
	}
	var path []int
	for i := last; i >= 0; i = before[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

func layers(n int, needs func(int) []int, dependants func(int) []int) []int {
	layer := make([]int, n)
	for _, i := range inOrder(n, needs, dependants) {
		for _, k := range dependants(i) {
			layer[k] = max(layer[k], layer[i]+1)
		}
	}
	return layer
}

func isSubDAG(task starter.Item) bool { return task.Kind == string(spec.KindDAG) }
