package dag

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/origin"
)

// ResumeRequest selects the tasks of an earlier run to execute again.
type ResumeRequest struct {
	// Id of the earlier run: the origin of imported tasks, unless it had imported them itself.
	Run string
	// From names tasks to execute again with all their descendants.
	From []string
	// Tasks to execute again without their descendants, because the caller misses their results.
	Also []string
	// AcceptDiff allows another graph. Added and changed tasks are then executed with their descendants.
	AcceptDiff bool
}

// Import is a task whose end is imported from an earlier run.
type Import struct {
	Task  Index  // in the new run
	Prior Index  // in the earlier run
	From  string // id of the run that produced it
}

// ResumePlan lists imported and executed tasks of a resumed run.
type ResumePlan struct {
	Imported []Import
	Executed []Index
	// Dropped lists ids of added tasks that do not fit the new run: a dependency is gone, or their order cannot be kept.
	Dropped []string
	Diff    Diff
}

// Resume prepares a run of next that imports succeeded and skipped tasks from prior and executes the others. Tasks
// added at run time are taken along, except those of a splitter that is executed again. A task that names such a part
// waits for all tasks of the splitter. [ResumePlan.Dropped] lists added tasks that do not fit. The caller ensures
// that prior is over. Nothing starts before EventStart.
func Resume(prior *Run, next *Graph, opts Options, req ResumeRequest) (*Run, *ResumePlan, error) {
	diff := graph.Compare(prior.graph, next)
	if !diff.Empty() && !req.AcceptDiff {
		return nil, nil, &DiffError{Diff: diff}
	}
	if req.Run == "" || len(req.Run) > origin.MaxRunIDLength {
		return nil, nil, &Refusal{Event: EventStart, Reason: RefusedInvalid, Task: None, Detail: "the earlier run has no usable id"}
	}
	s := resumption{prior: prior, next: next, opts: opts, req: req, drop: map[int]bool{}, changed: map[string]bool{}, chosen: map[string]bool{}, descendants: map[string]bool{}}
	for _, id := range diff.Changed {
		s.changed[id] = true
	}
	for {
		s.build()
		if err := s.choose(diff); err != nil {
			return nil, nil, err
		}
		if !s.dropSplits() {
			break
		}
	}
	plan := s.adopt()
	plan.Diff, plan.Dropped = diff, s.lost
	return s.run, plan, nil
}

type resumption struct {
	prior   *Run
	next    *Graph
	opts    Options
	req     ResumeRequest
	drop    map[int]bool // batches of prior's growth to drop
	batch   map[int]int  // batch of the new run's growth → batch of prior's
	lost    []string
	changed map[string]bool
	// chosen holds the tasks selected in any build, descendants those selected with their descendants. Both keep a
	// selection when the part of a splitter that caused it is dropped.
	chosen, descendants map[string]bool

	run  *Run
	exec []bool
}

func (s *resumption) choose(diff Diff) error {
	s.exec = make([]bool, s.run.Len())
	for n := range s.exec {
		j, ok := s.prior.Lookup(s.run.ID(Index(n)))
		s.exec[n] = !ok || !s.prior.State(j).satisfies() || s.chosen[s.run.ID(Index(n))]
	}
	for _, id := range s.req.Also {
		i, err := s.find(id)
		if err != nil {
			return err
		}
		if i != None {
			s.exec[i] = true
		}
	}
	var again []Index
	for n := range s.run.Len() {
		if s.descendants[s.run.ID(Index(n))] {
			again = append(again, Index(n))
		}
	}
	for _, id := range s.req.From {
		i, err := s.find(id)
		if err != nil {
			return err
		}
		if i != None {
			again = append(again, i)
		}
	}
	for _, id := range slices.Concat(diff.Added, diff.Changed) {
		if i, ok := s.run.Lookup(id); ok {
			again = append(again, i)
		}
	}
	s.withDescendants(again)
	s.withSources(diff.Changed)
	s.withUntriggered()
	for n, execute := range s.exec {
		if execute {
			s.chosen[s.run.ID(Index(n))] = true
		}
	}
	return nil
}

func (s *resumption) withSources(changed []string) {
	if s.prior.growth == nil || len(changed) == 0 {
		return
	}
	names := make(map[string]bool, len(changed))
	for _, id := range changed {
		names[id] = true
	}
	for _, t := range s.prior.growth.tasks {
		if t.under == None || !names[s.prior.ID(t.under)] {
			continue
		}
		if i, ok := s.run.Lookup(s.prior.ID(t.parent)); ok {
			s.exec[i] = true
		}
	}
}

// A one_failed task that was skipped by its rule may run, since its executed dependency may fail.
func (s *resumption) withUntriggered() {
	var queue []Index
	for n, execute := range s.exec {
		if execute {
			queue = append(queue, Index(n))
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, d := range s.run.Dependants(queue[head]) {
			if s.exec[d] {
				continue
			}
			if j, _ := s.prior.Lookup(s.run.ID(d)); s.prior.nodes[j].flag == flagUntriggered {
				s.exec[d] = true
				queue = append(queue, d)
			}
		}
	}
}

// find returns None without an error for an added task that its splitter adds again.
func (s *resumption) find(id string) (Index, error) {
	if i, ok := s.run.Lookup(id); ok {
		return i, nil
	}
	if i, ok := s.prior.Lookup(id); ok && int(i) >= s.prior.graph.Len() {
		return None, nil
	}
	return None, &Refusal{Event: EventRerun, Reason: RefusedUnknownTask, Task: None, ID: id, Detail: "the run has no such task; `roundsman show` lists them"}
}

func (s *resumption) withDescendants(queue []Index) {
	seen := make([]bool, s.run.Len())
	for head := 0; head < len(queue); head++ {
		i := queue[head]
		if seen[i] {
			continue
		}
		seen[i], s.exec[i], s.descendants[s.run.ID(i)] = true, true, true
		queue = append(queue, s.run.Dependants(i)...)
	}
}

// dropSplits reports whether the run must be built without some batches.
func (s *resumption) dropSplits() bool {
	found := false
	if s.run.growth == nil {
		return false
	}
	for k, b := range s.run.growth.batches {
		if b.parent != None && s.exec[b.parent] && !b.deferred() {
			s.drop[s.batch[k]] = true
			found = true
		}
	}
	return found
}

func (s *resumption) adopt() *ResumePlan {
	plan := &ResumePlan{}
	for n, execute := range s.exec {
		i := Index(n)
		if execute {
			plan.Executed = append(plan.Executed, i)
			continue
		}
		j, _ := s.prior.Lookup(s.run.ID(i))
		from := cmp.Or(s.prior.From(j), s.req.Run)
		s.run.origins.Set(i, s.run.Len(), from)
		s.run.nodes[n].state, s.run.nodes[n].flag = s.prior.State(j), s.prior.nodes[j].flag
		plan.Imported = append(plan.Imported, Import{Task: i, Prior: j, From: from})
	}
	s.run.recount()
	return plan
}
