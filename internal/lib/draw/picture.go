package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Task is a task in a picture.
type Task struct {
	ID    string
	Needs []string
	// Kind of the task: command, approval, …
	Kind string
	// Trigger rule, empty for the default.
	Rule string
	// State is empty in a picture without a run, and for a task outside the run.
	State string
	// Note is the tooltip of the task: its error or wait.
	Note string
}

// Picture holds the tasks to draw.
type Picture struct {
	// Title names the DAG, Subtitle the run, if any.
	Title, Subtitle string
	Tasks           []Task
	// Down places the boxes from top to bottom instead of left to right.
	Down bool
	// Run means that tasks have states. Otherwise kinds are colored.
	Run bool
	// Size of all boxes in pixels; 0: the size of their text. Boxes of one size are closer together.
	BoxWidth, BoxHeight float64
}

// Format is an output format.
type Format string

// The formats.
const (
	SVG     Format = "svg"
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
)

// Formats lists the formats.
func Formats() []Format { return []Format{SVG, Dot, Mermaid} }

// autoCollapse is the number of tasks above which a full picture is not legible: a fan-out is then one box.
const autoCollapse = 100

// Around reduces the picture to a task or fan-out with its direct and indirect needs and dependants.
func (p *Picture) Around(id string) error {
	at := make(map[string]int, len(p.Tasks))
	dependants := map[string][]string{}
	var start []string
	for i, task := range p.Tasks {
		at[task.ID] = i
		if task.ID == id || entryOf(task.ID) == id {
			start = append(start, task.ID)
		}
		for _, need := range task.Needs {
			dependants[need] = append(dependants[need], task.ID)
		}
	}
	if len(start) == 0 {
		return fmt.Errorf("DAG %s has no task %s", p.Title, id)
	}
	keep := map[string]bool{}
	needs := func(id string) []string {
		if i, ok := at[id]; ok {
			return p.Tasks[i].Needs
		}
		return nil
	}
	reach(keep, start, needs)
	down := map[string]bool{}
	reach(down, start, func(id string) []string { return dependants[id] })
	p.Tasks = slices.DeleteFunc(p.Tasks, func(task Task) bool { return !keep[task.ID] && !down[task.ID] })
	return nil
}

func reach(seen map[string]bool, start []string, next func(string) []string) {
	queue := slices.Clone(start)
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		queue = append(queue, next(id)...)
	}
}

// Draw writes the picture. SVG and Mermaid have limits; above them it returns a [*TooLargeError].
func (p *Picture) Draw(w io.Writer, format Format) error {
	s := p.boxes(len(p.Tasks) > autoCollapse)
	var text strings.Builder
	switch format {
	case Dot:
		p.dot(&text, s)
	case Mermaid:
		p.mermaid(&text, s)
		if err := s.fitsMermaid(p.Title, text.String()); err != nil {
			return err
		}
	case SVG:
		laid, err := p.layout(s)
		if err != nil {
			return err
		}
		p.svg(&text, s, laid)
	default:
		return fmt.Errorf("format %q is not one of %v", format, Formats())
	}
	_, err := io.WriteString(w, text.String())
	return err
}
