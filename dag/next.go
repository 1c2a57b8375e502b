package dag

// Next takes one event and appends the resulting decisions to buf, which may be nil. All state changes precede the
// decisions: a failure reaches every dependant before anything starts. The error is a [*Refusal], or a [*FaultsError]
// for invalid added tasks; the run is then unchanged.
func (r *Run) Next(ev Event, buf []Decision) ([]Decision, error) {
	r.moves, r.redefined = r.moves[:0], r.redefined[:0]
	switch ev.Kind { //nolint:exhaustive // the rest are requests of an operator.
	case EventCompleted, EventFailed, EventCanceled, EventSkipped:
		late, err := r.reported(ev)
		if late || err != nil {
			return buf, err
		}
	case EventDeferred:
		if late, err := r.checkReport(ev); late || err != nil {
			return buf, err
		}
		if err := r.deferTask(ev); err != nil {
			return buf, err
		}
	case EventStarted:
		_, err := r.checkReport(ev)
		return buf, err
	case EventAdmit, EventWithdraw, EventCrowded, EventYield:
		if late, err := r.checkReport(ev); late || err != nil {
			return buf, err
		}
		r.admit(ev.Task, ev.Kind)
	case EventStart:
		if r.phase != phaseNew {
			return buf, nil
		}
		r.begin()
	default:
		var err error
		if buf, err = r.operate(ev, buf); err != nil {
			return buf, err
		}
	}
	return r.decide(buf), nil
}

// begin judges every task with no open dependency: none declared, or all imported in a resumed run.
func (r *Run) begin() {
	r.phase = phaseActive
	for i := range r.nodes {
		if n := &r.nodes[i]; n.state == Pending && n.wait == 0 {
			r.judge(Index(i))
		}
	}
	r.settle()
}

// checkReport validates a report; late means that the task is already terminal.
func (r *Run) checkReport(ev Event) (late bool, err error) {
	if ev.Task < 0 || int(ev.Task) >= len(r.nodes) {
		return false, r.refuse(ev, RefusedUnknownTask, "there is no task %d; the run has %d", ev.Task, len(r.nodes))
	}
	s := r.nodes[ev.Task].state
	if s == Running || s.Terminal() {
		return s != Running, nil
	}
	return false, r.refuse(ev, RefusedState, "it is %s; only a task that was started can report", s)
}

func (r *Run) reported(ev Event) (late bool, err error) {
	if late, err = r.checkReport(ev); late || err != nil {
		return late, err
	}
	to := Completed
	switch ev.Kind { //nolint:exhaustive // Next passes only the four ends here.
	case EventFailed:
		to = Failed
	case EventCanceled:
		to = Canceled
	case EventSkipped:
		to = Skipped
	case EventCompleted:
		if ev.Growth != nil {
			if err := r.split(ev); err != nil {
				return false, err
			}
		}
	}
	r.end(ev.Task, to)
	r.settle()
	if to == Failed && r.opts.OnFailure == Stop && !r.swept {
		r.sweep(0)
		r.swept = true
	}
	return false, nil
}

// The caller must call settle for the dependants.
func (r *Run) end(i Index, to State) {
	r.move(i, to)
	r.nodes[i].flag = 0
	r.stack = append(r.stack, i)
}

func (r *Run) untrigger(i Index) {
	r.end(i, Skipped)
	r.nodes[i].flag = flagUntriggered
}

// move changes a state and its place in the queue.
func (r *Run) move(i Index, to State) {
	from := r.set(i, to)
	if from == Ready || to == Ready || r.limited() {
		r.requeue(i, &r.nodes[i], from, to)
	}
}

// settle updates the dependants of every task on the work list until the list is empty.
func (r *Run) settle() {
	for len(r.stack) > 0 {
		last := len(r.stack) - 1
		i := r.stack[last]
		r.stack = r.stack[:last]
		how := r.nodes[i].state
		base, more := r.dependants(i)
		for _, d := range base {
			r.arrive(d, how)
		}
		for _, d := range more {
			r.arrive(d, how)
		}
	}
}

func (r *Run) arrive(d Index, how State) {
	n := &r.nodes[d]
	n.wait--
	if n.state != Pending {
		return
	}
	switch n.attr.Rule() {
	case AllSuccess:
		if how.blocks() {
			r.end(d, UpstreamFailed)
		} else if n.wait == 0 {
			r.move(d, Ready)
		}
	case OneFailed:
		if how.failure() {
			r.move(d, Ready)
		} else if n.wait == 0 {
			r.untrigger(d)
		}
	case AllDone, Always:
		if n.wait == 0 {
			r.move(d, Ready)
		}
	}
}

// judge is for revived and added tasks: arrive handles only changes.
func (r *Run) judge(i Index) {
	blocked, failed := false, false
	for _, d := range r.Needs(i) {
		s := r.nodes[d].state
		blocked = blocked || s.blocks()
		failed = failed || s.failure()
	}
	n := &r.nodes[i]
	rule := n.attr.Rule()
	switch {
	case rule == AllSuccess && blocked:
		r.end(i, UpstreamFailed)
	case rule == OneFailed && failed:
		r.move(i, Ready)
	case n.wait > 0:
	case rule == OneFailed:
		r.untrigger(i)
	default:
		r.move(i, Ready)
	}
}

func (r *Run) decide(buf []Decision) []Decision {
	if r.phase != phaseActive {
		return buf
	}
	if r.chains.byName != nil {
		r.stopItems()
	}
	if !r.paused {
		buf = r.startAll(buf)
		if r.limited() {
			buf = r.startParked(buf)
		}
	}
	if r.counts[Pending]+r.counts[Ready]+r.counts[Running] > 0 {
		return buf
	}
	if r.opts.Hold && r.ending == endingNone && r.verdict(&r.counts) == OutcomeFailed {
		r.phase = phaseHeld
		return append(buf, Decision{Kind: DecisionHold, Task: None})
	}
	return r.finish(buf)
}

func (r *Run) startAll(buf []Decision) []Decision {
	if r.free.Len() > 0 {
		buf = r.startFree(buf)
	}
	buf = r.fillPlaces(buf)
	if r.gating {
		buf = r.startGated(buf) // A task with a new place has just left its gate.
	}
	return buf
}

// startParked follows startAll: a started task may make others available that startAll has passed.
func (r *Run) startParked(buf []Decision) []Decision {
	for from := 0; from < len(buf) || r.forceItem(); {
		from = len(buf)
		buf = r.startAll(buf)
	}
	return buf
}

func (r *Run) finish(buf []Decision) []Decision {
	r.phase = phaseFinished
	return append(buf, Decision{Kind: DecisionFinish, Outcome: r.verdict(&r.counts), Task: None})
}
