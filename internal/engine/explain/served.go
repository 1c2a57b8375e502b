package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Wanted is a requirement on a worker. Every text that names a missing worker uses its verdict.
type Wanted struct {
	// JobType is empty for a command task. An empty Handler means any handler.
	JobType, Handler string
	// Node is the only worker that may serve; empty for any.
	Node   string
	Labels map[string]string
}

// Server is a worker that may serve work.
type Server struct {
	ID           string
	Labels       map[string]string
	JobTypes     []string
	Capabilities []contract.Capability
	// Away is the reason why it gets no work, such as OFFLINE; empty if it gets work.
	Away string
}

// Lack is the kind of a missing property.
type Lack string

// The kinds of Lack, in the order of the checks.
const (
	LackNone    Lack = ""
	LackNode    Lack = "node"
	LackHandler Lack = "handler"
	LackJobType Lack = "job_type"
	LackLabel   Lack = "label"
	LackState   Lack = "state"
)

// Shortage is the first requirement that no worker meets.
type Shortage struct {
	Lack   Lack
	Wanted Wanted
	// Labels are the missing labels, as name=value.
	Labels []string
	// Elsewhere means that workers without the handler have the labels.
	Elsewhere bool
	// Away are the workers that could serve if they were well, by ID.
	Away []Server
}

// Shortage returns the missing property without which no worker can serve the work.
func (w Wanted) Shortage(workers []Server) Shortage {
	s := Shortage{Wanted: w}
	left := workers
	narrow := func(lack Lack, keep func(Server) bool) bool {
		var kept []Server
		for _, one := range left {
			if keep(one) {
				kept = append(kept, one)
			}
		}
		if len(kept) == 0 {
			s.Lack = lack
			return false
		}
		left = kept
		return true
	}
	switch {
	case w.Node != "" && !narrow(LackNode, func(one Server) bool { return one.ID == w.Node }),
		!narrow(LackHandler, func(one Server) bool { return w.Handler == "" || one.has(w.Handler) }),
		!narrow(LackJobType, func(one Server) bool { return len(one.JobTypes) == 0 || slices.Contains(one.JobTypes, w.JobType) }):
		return s
	}
	if capable := left; !narrow(LackLabel, func(one Server) bool { return one.lacks(w.Labels) == nil }) {
		s.Labels = lackedByAll(w.Labels, capable)
		s.Elsewhere = slices.ContainsFunc(workers, func(one Server) bool {
			return !slices.ContainsFunc(s.Labels, func(label string) bool { return slices.Contains(one.lacks(w.Labels), label) })
		})
		return s
	}
	if able := left; !narrow(LackState, func(one Server) bool { return one.Away == "" }) {
		s.Away = able
	}
	return s
}

func (s Server) has(handler string) bool {
	return slices.ContainsFunc(s.Capabilities, func(c contract.Capability) bool { return c.Handler == handler })
}

func (s Server) lacks(labels map[string]string) []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if s.Labels[name] != labels[name] {
			missing = append(missing, name+"="+labels[name])
		}
	}
	return missing
}

// lackedByAll returns the labels missing on all workers. If each label is on some worker, but no
// worker has all of them, it returns all labels.
func lackedByAll(labels map[string]string, workers []Server) []string {
	var missing, all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
		if !slices.ContainsFunc(workers, func(one Server) bool { return one.Labels[name] == labels[name] }) {
			missing = append(missing, name+"="+labels[name])
		}
	}
	if len(missing) == 0 {
		return all
	}
	return missing
}

const maxAway = 3

// Text names the missing property in a few words.
func (s Shortage) Text() string {
	with := "no online worker"
	switch {
	case s.Wanted.Node != "":
		with = "worker " + s.Wanted.Node
	case s.Lack == LackLabel && s.Elsewhere || s.Lack == LackJobType:
		with += " with handler " + s.Wanted.Handler
	}
	pinned := s.Wanted.Node != ""
	switch s.Lack {
	case LackNone:
		return ""
	case LackNode:
		return with + " is not registered"
	case LackHandler:
		if s.Wanted.Handler == "" {
			return "no worker is registered"
		}
		return with + verb(pinned, " does not have", " has") + " handler " + s.Wanted.Handler
	case LackJobType:
		if s.Wanted.JobType == "" {
			return with + verb(pinned, " does not take", " takes") + " work outside its job types"
		}
		return with + verb(pinned, " does not take", " takes") + " job type " + s.Wanted.JobType
	case LackLabel:
		noun := " label "
		if len(s.Labels) > 1 {
			noun = " labels "
		}
		return with + verb(pinned, " does not have", " has") + noun + strings.Join(s.Labels, ", ")
	case LackState:
		return s.textAway()
	}
	return ""
}

// verb returns the verb form after the name of one worker, or after "no worker".
func verb(pinned bool, one, none string) string {
	if pinned {
		return one
	}
	return none
}

func (s Shortage) textAway() string {
	var names []string
	for _, one := range s.Away[:min(len(s.Away), maxAway)] {
		names = append(names, one.ID+" is "+stateWord(contract.WorkerState(one.Away)))
	}
	if more := len(s.Away) - maxAway; more > 0 {
		names = append(names, fmt.Sprintf("%d more are away", more))
	}
	if s.Wanted.Node != "" {
		return "worker " + names[0]
	}
	return "no worker that could serve gets work: " + strings.Join(names, ", ")
}

// Remedy returns the help that adds the missing property.
func (s Shortage) Remedy() Remedy {
	start := func(args action.Args) action.Action { return action.New(action.StartWorker, args) }
	switch s.Lack {
	case LackNone:
	case LackNode:
		return act(start(action.Args{"id": s.Wanted.Node}))
	case LackHandler:
		if s.Wanted.Handler == "" {
			return act(start(nil))
		}
		return Remedy{Hint: "start a worker that has it", Actions: []action.Action{action.New(action.ListWorkers, nil)}}
	case LackJobType:
		return Remedy{Hint: "start a worker without --job-types", Actions: []action.Action{action.New(action.ListWorkers, nil)}}
	case LackLabel:
		return act(start(action.Args{"id": s.Wanted.Node, "labels": strings.Join(s.Labels, ",")}))
	case LackState:
		return s.Away[0].back()
	}
	return Remedy{}
}

// back returns the help that lets the worker take work again.
func (s Server) back() Remedy {
	show := about(action.GetWorker, "id", s.ID)
	switch contract.WorkerState(s.Away) { //nolint:exhaustive // the others need a look at the machine
	case contract.WorkerCordoned, contract.WorkerDraining:
		return act(about(action.UncordonWorker, "id", s.ID), show)
	case contract.WorkerOffline:
		return act(about(action.StartWorker, "id", s.ID), show)
	}
	return act(show)
}

// maxLine bounds an operator's text, in characters.
const maxLine = 120

// String returns one line: the code, the missing property, and the remedy if it fits.
func (s Shortage) String() string {
	if s.Lack == LackNone {
		return ""
	}
	line := string(contract.CodeNoWorker) + ": " + s.Text()
	if whole := line + "; " + s.Remedy().Text(); len([]rune(whole)) <= maxLine {
		return whole
	}
	if runes := []rune(line); len(runes) > maxLine {
		return string(runes[:maxLine-1]) + "…"
	}
	return line
}

func servers(workers []contract.WorkerDetail) []Server {
	var list []Server
	for _, worker := range workers {
		if worker.State == contract.WorkerDeleted {
			continue
		}
		r := worker.Registration
		one := Server{ID: r.ID, Labels: r.Labels, JobTypes: r.JobTypes, Capabilities: r.Capabilities}
		switch {
		case worker.State != contract.WorkerOnline:
			one.Away = string(worker.State)
		case !worker.Fresh:
			one.Away = Silent
		}
		list = append(list, one)
	}
	return list
}

// Silent is the [Server.Away] of a worker that sends no heartbeats.
const Silent = "silent (no heartbeat for three intervals)"

// Missing is [Wanted.Shortage] of the registered workers.
func (w Wanted) Missing(workers []contract.WorkerDetail) Shortage {
	return w.Shortage(servers(workers))
}

// CapableOf reports whether a worker can serve the job type while it is well.
func (w Wanted) CapableOf(worker contract.WorkerDetail) bool {
	lack := w.Missing([]contract.WorkerDetail{worker}).Lack
	return lack == LackNone || lack == LackState
}

// Served reports whether a worker that gets work now can serve the job type.
func (w Wanted) Served(workers []contract.WorkerDetail) bool {
	return w.Missing(workers).Lack == LackNone
}
