package dag

// A repeated request for a running task changes nothing.
func (r *Run) cancelTask(ev Event, buf []Decision) ([]Decision, error) {
	n := &r.nodes[ev.Task]
	switch {
	case n.state.Terminal():
		return buf, r.refuse(ev, RefusedState, "it is already %s", n.state)
	case n.state == Running:
		return r.appendCancel(ev.Task, buf), nil
	}
	r.end(ev.Task, Canceled)
	r.settle()
	return buf, nil
}

func (r *Run) appendCancel(i Index, buf []Decision) []Decision {
	if r.askCancel(i) {
		buf = append(buf, Decision{Kind: DecisionCancel, Task: i})
	}
	return buf
}

// cancelRun ends the run. The first request spares tasks with the rule always, a second one or a deadline does not.
// Both end a pause: otherwise cleanup tasks could not start.
func (r *Run) cancelRun(ev Event, buf []Decision) ([]Decision, error) {
	r.ending, r.paused = r.ending.after(ev.Kind), false
	hard := r.ending.hard()
	for i := range r.nodes {
		n := &r.nodes[i]
		if !hard && n.attr.Rule() == Always {
			continue
		}
		switch n.state {
		case Pending, Ready:
			r.end(Index(i), Canceled)
		case Running:
			buf = r.appendCancel(Index(i), buf)
		case Completed, Failed, UpstreamFailed, Skipped, Canceled:
		}
	}
	r.settle()
	r.phase = phaseActive // a held run ends now; decide finds no task left
	return buf, nil
}

// sweep cancels all tasks from the given one that have not started, under the policy Stop.
func (r *Run) sweep(from Index) {
	for i := from; int(i) < len(r.nodes); i++ {
		n := &r.nodes[i]
		rule := n.attr.Rule()
		if n.state > Ready || rule == Always || rule == OneFailed {
			continue
		}
		r.end(i, Canceled)
		n.flag = flagSwept
	}
	r.settle()
}
