package console

import (
	"encoding/binary"
	"strings"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

// Shape has the places of tasks in a map. It changes only if tasks are added.
type Shape struct {
	// Layers has four bytes for each task, the lowest first: the number of its layer.
	Layers []byte `json:"layers"`
	// Eight bytes for each dependency: the numbers of the need and of the task. Empty for more than 20,000.
	Lines []byte `json:"lines,omitempty"`
	// Names has the ids of the tasks, of at most 5,000.
	Names []string `json:"names,omitempty"`
	// Critical lists the tasks of the longest chain, from 0.
	Critical []int `json:"critical,omitempty"`
}

// FoundTask is a task of a search.
type FoundTask struct {
	ID string `json:"id"`
	// At is the number of the task in the map, counted from 1. Box is the id of its box.
	At    int          `json:"at"`
	Box   string       `json:"box"`
	State string       `json:"state"`
	Role  explain.Role `json:"role" enum:"failed,person,waiting,running,done,skipped,upstream,canceled,plan"`
}

const (
	mostLines = 20_000
	mostNames = 5_000
)

func shapeOf(picture starter.DAGPicture) *Shape {
	shape := &Shape{Critical: critical(picture, picture.Task)}
	lines := 0
	for i, layer := range layers(picture.Len(), picture.Needs, picture.Dependants) {
		shape.Layers = binary.LittleEndian.AppendUint32(shape.Layers, uint32(layer)) //nolint:gosec // small
		if picture.Len() <= mostNames {
			shape.Names = append(shape.Names, picture.ID(i))
		}
		needs := picture.Needs(i)
		if lines += len(needs); lines > mostLines {
			shape.Lines = nil
			continue
		}
		for _, need := range needs {
			shape.Lines = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(shape.Lines, uint32(need)), uint32(i)) //nolint:gosec // small
		}
	}
	return shape
}

const mostFound = 100

func (g *RunGraph) find(picture starter.DAGPicture, in graphInput) {
	g.Found = []FoundTask{}
	boxes := map[int]string{}
	for _, of := range groupsOf(picture, every(picture.Len()), in.Open) {
		for _, i := range of.tasks {
			boxes[i] = of.name
		}
	}
	text := strings.ToLower(in.Find)
	for i := range picture.Len() {
		id := picture.ID(i)
		if !strings.Contains(strings.ToLower(id), text) {
			continue
		}
		if g.FoundTotal++; len(g.Found) < mostFound {
			state := picture.State(i)
			g.Found = append(g.Found, FoundTask{ID: id, At: i + 1, Box: boxes[i], State: state, Role: explain.ItemRole(state)})
		}
	}
}
