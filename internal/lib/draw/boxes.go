package draw

import (
	"fmt"
	"slices"
	"strings"
)

type box struct {
	name  string
	lines []string
	// look is the state or kind that sets the style.
	look string
	note string
}

// standIn is the kind of the task in place of a fan-out over the result of another task.
const standIn = "fan_out"

type sketch struct {
	boxes []box
	edges [][2]int
}

func entryOf(id string) string {
	entry, _, _ := strings.Cut(id, ".")
	return entry
}

// boxes groups the tasks in declaration order. It drops dependencies on tasks outside the picture.
func (p *Picture) boxes(collapse bool) sketch {
	var (
		s      sketch
		groups [][]Task
	)
	box := make(map[string]int, len(p.Tasks))   // task → box
	first := make(map[string]int, len(p.Tasks)) // entry → box
	for _, task := range p.Tasks {
		name := task.ID
		if collapse {
			name = entryOf(name)
		}
		i, ok := first[name]
		if !ok {
			i = len(groups)
			first[name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], task)
		box[task.ID] = i
	}
	seen := map[[2]int]bool{}
	for to, tasks := range groups {
		s.boxes = append(s.boxes, p.boxOf(tasks))
		for _, task := range tasks {
			for _, need := range task.Needs {
				from, ok := box[need]
				edge := [2]int{from, to}
				if ok && from != to && !seen[edge] {
					seen[edge] = true
					s.edges = append(s.edges, edge)
				}
			}
		}
	}
	return s
}

func (p *Picture) boxOf(tasks []Task) box {
	if len(tasks) > 1 && tasks[0].Kind == standIn {
		tasks = tasks[1:] // The others replace it.
	}
	task := tasks[0]
	about := task.Kind
	if task.Rule != "" {
		about += " (" + task.Rule + ")"
	}
	b := box{name: task.ID, look: task.Kind, note: task.Note}
	if len(tasks) > 1 {
		b.name, b.note = entryOf(task.ID), ""
		about = fmt.Sprintf("%d × %s", len(tasks), about)
	}
	b.lines = []string{b.name, about}
	if p.Run {
		var says string
		b.look, says = stateOf(tasks)
		b.lines = append(b.lines, says)
	}
	return b
}

// The state of a fan-out is the most urgent one of its tasks.
func stateOf(tasks []Task) (state, says string) {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[task.State]++
	}
	var parts []string
	for _, look := range stateLooks() {
		n := counts[look.name]
		if n == 0 {
			continue
		}
		if state == "" || len(parts) == 0 {
			state = look.name
		}
		if len(tasks) > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, look.says()))
		} else {
			parts = append(parts, look.says())
		}
	}
	return state, strings.Join(parts, ", ")
}

func (p *Picture) summary() []string {
	counts := map[string]int{}
	for _, task := range p.Tasks {
		if p.Run {
			counts[task.State]++
		} else {
			counts[task.Kind]++
		}
	}
	var parts []string
	for _, look := range p.looks() {
		if n := counts[look.name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, look.says()))
		}
	}
	return parts
}

func (p *Picture) about(s sketch) string {
	text := fmt.Sprintf("%d tasks", len(p.Tasks))
	if len(s.boxes) != len(p.Tasks) {
		text += fmt.Sprintf(" in %d boxes", len(s.boxes))
	}
	text += fmt.Sprintf(", %d dependencies: %s.", len(s.edges), strings.Join(p.summary(), ", "))
	var failed []string
	for _, task := range p.Tasks {
		if task.State == "failed" {
			failed = append(failed, task.ID)
		}
	}
	const named = 10
	if len(failed) > 0 {
		text += " Failed: " + strings.Join(failed[:min(named, len(failed))], ", ")
		if len(failed) > named {
			text += fmt.Sprintf(" and %d more", len(failed)-named)
		}
		text += "."
	}
	return text
}

func (p *Picture) heading() string {
	return strings.Join(slices.DeleteFunc([]string{"DAG " + p.Title, p.Subtitle}, func(part string) bool { return part == "" }), ", ")
}
