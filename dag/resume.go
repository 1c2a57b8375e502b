package dag

import (
	"fmt"
	"slices"
	"strings"
)

// ResumeRequest says what to do again of an earlier run.
type ResumeRequest struct {
	// Run is the id of the earlier run; it becomes the origin of what is imported,
	// unless the earlier run had imported that itself.
	Run string
	// From names tasks to execute again with all their descendants.
	From []string
	// Also names tasks to execute again without their descendants; for callers that
	// find an imported task's result to be gone.
	Also []string
	// AcceptDiff allows the graph to differ from the earlier run's. Tasks that were
	// added or changed are then executed with their descendants.
	AcceptDiff bool
}

// Diff lists how the tasks of two graphs differ, by id, in declaration order.
type Diff struct {
	Added, Changed, Removed []string
}

// Empty reports whether there is no difference.
func (d Diff) Empty() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

// DiffError refuses to resume a run with another graph.
type DiffError struct {
	Diff Diff
}

// Error names what differs and how to continue.
func (e *DiffError) Error() string {
	var parts []string
	for _, p := range []struct {
		what string
		ids  []string
	}{{"added", e.Diff.Added}, {"changed", e.Diff.Changed}, {"removed", e.Diff.Removed}} {
		if len(p.ids) > 0 {
			const shown = 5
			list := strings.Join(p.ids[:min(shown, len(p.ids))], ", ")
			if len(p.ids) > shown {
				list += fmt.Sprintf(" and %d more", len(p.ids)-shown)
			}
			parts = append(parts, p.what+": "+list)
		}
	}
	return "the tasks differ from those of the earlier run (" + strings.Join(parts, "; ") +
		"); accept the difference to run what changed and everything after it, or resume with the original"
}

// Import is a task whose end is taken over from an earlier run.
type Import struct {
	Task  Index  // in the new run
	Prior Index  // in the earlier run
	From  string // id of the run that produced it
}

// ResumePlan says what a resumed run takes over and what it executes.
type ResumePlan struct {
	Imported []Import
	Executed []Index
	// Dropped are the ids of tasks that an operator or a splitter had added and
	// that have no place in the new run: what they need is gone, or the order
	// they were added for cannot be kept. No splitter adds them again.
	Dropped []string
	Diff    Diff
}

// Compare lists the differences between two graphs' tasks.
func Compare(before, after *Graph) Diff {
	var d Diff
	if before.Hash() == after.Hash() {
		return d
	}
	for i := range Index(after.Len()) {
		j, ok := before.Lookup(after.ID(i))
		if !ok {
			d.Added = append(d.Added, after.ID(i))
		} else if before.Fingerprint(j) != after.Fingerprint(i) {
			d.Changed = append(d.Changed, after.ID(i))
		}
	}
	for j := range Index(before.Len()) {
		if _, ok := after.Lookup(before.ID(j)); !ok {
			d.Removed = append(d.Removed, before.ID(j))
		}
	}
	return d
}

// Resume prepares a run of next that takes over from prior the tasks that
// succeeded or were skipped, and executes the others: those that failed, were
// blocked, canceled or never ran, those the request names, and, if AcceptDiff,
// those that changed with their descendants. Tasks that were added to prior at
// run time come along, except those of a splitter that is executed again: it
// will add its own. An added task that names such a part names its splitter
// instead, and so waits for all that the splitter adds; those that cannot come
// along are in [ResumePlan.Dropped]. prior is not changed; that it is over is for
// the caller to know. Nothing starts before EventStart.
//
// The error is a [*DiffError], or a [*Refusal] for a task that does not exist.
func Resume(prior *Run, next *Graph, opts Options, req ResumeRequest) (*Run, *ResumePlan, error) {
	diff := Compare(prior.graph, next)
	if !diff.Empty() && !req.AcceptDiff {
		return nil, nil, &DiffError{Diff: diff}
	}
	if req.Run == "" || len(req.Run) > maxRunIDLength {
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

// resumption is the work in progress of Resume.
type resumption struct {
	prior *Run
	next  *Graph
	opts  Options
	req   ResumeRequest
	drop  map[int]bool // batches of prior's growth that do not come along
	batch map[int]int  // batch of the new run's growth → batch of prior's
	lost  []string
	// changed are the tasks that next defines otherwise than prior's graph.
	changed map[string]bool
	// chosen are the tasks that were to be executed in one of the builds, descendants
	// those of them that were with all that follows. Both stay when the part of a
	// splitter goes that was the reason: their own parts went with it.
	chosen, descendants map[string]bool

	run  *Run
	exec []bool
}

// choose decides which tasks are executed.
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

// withSources adds the tasks that brought the tasks of a fan-out which has changed:
// they bring them again.
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

// withUntriggered adds the one_failed tasks that had nothing to react to and
// depend on a task that is executed: that one may fail.
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

// find returns a named task; None without an error for an added one that does not
// come along: if its splitter adds it again, it is executed anyway.
func (s *resumption) find(id string) (Index, error) {
	if i, ok := s.run.Lookup(id); ok {
		return i, nil
	}
	if i, ok := s.prior.Lookup(id); ok && int(i) >= s.prior.graph.Len() {
		return None, nil
	}
	return None, &Refusal{Event: EventRerun, Reason: RefusedUnknownTask, Task: None, ID: id, Detail: "the run has no such task; `roundsman dag show` lists them"}
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

// dropSplits marks the batches whose splitter is executed again; true if there
// are any, and the run has to be built without them.
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

// adopt gives the imported tasks the state they had.
func (s *resumption) adopt() *ResumePlan {
	plan := &ResumePlan{}
	o := origins{of: make([]uint16, s.run.Len())}
	numbers := map[string]uint16{}
	for n, execute := range s.exec {
		i := Index(n)
		if execute {
			plan.Executed = append(plan.Executed, i)
			continue
		}
		j, _ := s.prior.Lookup(s.run.ID(i))
		from := s.prior.From(j)
		if from == "" {
			from = s.req.Run
		}
		number, ok := numbers[from]
		if !ok && len(o.runs) < maxOrigins {
			o.runs = append(o.runs, from)
			number = uint16(len(o.runs))
			numbers[from] = number
		}
		o.of[n] = number
		s.run.nodes[n].state, s.run.nodes[n].flag = s.prior.State(j), s.prior.nodes[j].flag
		plan.Imported = append(plan.Imported, Import{Task: i, Prior: j, From: from})
	}
	if len(o.runs) > 0 {
		s.run.origins = o
	}
	s.run.recount()
	return plan
}
