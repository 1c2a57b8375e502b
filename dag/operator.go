package dag

import "fmt"

func (r *Run) refuse(ev Event, why Reason, format string, args ...any) error {
	f := &Refusal{Event: ev.Kind, Reason: why, Task: None, Detail: fmt.Sprintf(format, args...)}
	if ev.Task >= 0 && int(ev.Task) < len(r.nodes) && ev.Kind.aboutTask() {
		f.Task, f.ID = ev.Task, r.ID(ev.Task)
	}
	return f
}

func (k EventKind) aboutTask() bool {
	switch k {
	case EventStarted, EventCompleted, EventDeferred, EventFailed, EventCanceled, EventSkipped, EventAdmit, EventWithdraw,
		EventCrowded, EventYield, EventRetry, EventSkip, EventRerun, EventCancelTask:
		return true
	case EventStart, EventCancelRun, EventDeadline, EventPause, EventResume, EventAddTasks,
		EventSetConcurrency, EventRelease:
	}
	return false
}

func (r *Run) operate(ev Event, buf []Decision) ([]Decision, error) {
	if err := r.checkRequest(ev); err != nil {
		return buf, err
	}
	switch ev.Kind {
	case EventRetry:
		return buf, r.retry(ev)
	case EventSkip:
		return buf, r.skip(ev)
	case EventRerun:
		return buf, r.rerun(ev)
	case EventCancelTask:
		return r.cancelTask(ev, buf)
	case EventCancelRun, EventDeadline:
		return r.cancelRun(ev, buf)
	case EventPause, EventResume:
		r.paused = ev.Kind == EventPause
	case EventSetConcurrency:
		return buf, r.setConcurrency(ev)
	case EventAddTasks:
		return buf, r.addTasks(ev)
	case EventRelease:
		return r.release(ev, buf)
	case EventStart, EventStarted, EventCompleted, EventDeferred, EventFailed, EventCanceled, EventSkipped, EventAdmit, EventWithdraw, EventCrowded, EventYield:
		// Next handles the reports.
	default:
		return buf, r.refuse(ev, RefusedInvalid, "there is no such event")
	}
	return buf, nil
}

func (r *Run) checkRequest(ev Event) error {
	if ev.Kind >= eventCount {
		return r.refuse(ev, RefusedInvalid, "there is no such event")
	}
	setting := ev.Kind == EventPause || ev.Kind == EventResume || ev.Kind == EventSetConcurrency
	switch {
	case r.phase == phaseFinished:
		return r.refuse(ev, RefusedFinished, "the run is over (%s); start a new one that resumes it", r.verdict(&r.counts))
	case r.phase == phaseNew && !setting:
		return r.refuse(ev, RefusedNotStarted, "the run has not started")
	}
	if ev.Kind.aboutTask() && (ev.Kind != EventRetry || ev.Task != None) &&
		(ev.Task < 0 || int(ev.Task) >= len(r.nodes)) {
		return r.refuse(ev, RefusedUnknownTask, "there is no task %d; the run has %d", ev.Task, len(r.nodes))
	}
	return nil
}

func (r *Run) checkNotEnding(ev Event) error {
	if r.ending != endingNone {
		return r.refuse(ev, RefusedCanceling, "the run is ending; wait for its end and start a new one that resumes it")
	}
	return nil
}

func (r *Run) retry(ev Event) error {
	if err := r.checkNotEnding(ev); err != nil {
		return err
	}
	var seeds []Index
	if ev.Task == None {
		seeds = r.inStates(func(n *node) bool { return n.state == Failed || n.state == Canceled })
		if len(seeds) == 0 {
			return r.refuse(ev, RefusedState, "no task has failed")
		}
	} else {
		if s := r.nodes[ev.Task].state; s != Failed && s != Canceled {
			return r.refuse(ev, RefusedState, "it is %s; only a failed or canceled task can be retried%s", s, retryHint(s))
		}
		seeds = []Index{ev.Task}
	}
	if ev.Task != None && r.lastFailure(ev.Task) {
		seeds = append(seeds, r.stopped()...)
	}
	r.revive(seeds, nil)
	r.resumeItems()
	return nil
}

func retryHint(s State) string {
	if s == UpstreamFailed {
		return "; retry the task that blocked it, or everything"
	}
	return ""
}

func (r *Run) lastFailure(i Index) bool {
	left := r.counts[Failed]
	if r.nodes[i].state == Failed {
		left--
	}
	return r.opts.OnFailure == Stop && left == 0
}

// revive makes terminal tasks pending again, with the tasks behind them that never ran because of them. It judges all
// of these and back.
func (r *Run) revive(seeds, back []Index) {
	first := len(back)
	bring := func(i Index) {
		if !r.nodes[i].state.Terminal() {
			return
		}
		r.unsettle(i)
		back = append(back, i)
	}
	for _, i := range seeds {
		bring(i)
	}
	for head := first; head < len(back); head++ {
		for _, d := range r.Dependants(back[head]) {
			if n := r.nodes[d]; n.state == UpstreamFailed || n.flag == flagUntriggered {
				bring(d)
			}
		}
	}
	r.rejudge(back)
}

func (r *Run) unsettle(i Index) {
	r.move(i, Pending)
	r.nodes[i].flag = 0
	r.origins.Clear(i)
	for _, d := range r.Dependants(i) {
		n := &r.nodes[d]
		n.wait++
		if n.state == Ready && n.attr.Rule() != OneFailed {
			r.move(d, Pending)
		}
	}
}

func (r *Run) rejudge(back []Index) {
	for _, i := range back {
		if r.nodes[i].state == Pending {
			r.judge(i)
		}
	}
	r.settle()
	r.phase = phaseActive
	r.swept = false
}

func (r *Run) skip(ev Event) error {
	if err := r.checkNotEnding(ev); err != nil {
		return err
	}
	i := ev.Task
	switch s := r.nodes[i].state; s {
	case Running:
		return r.refuse(ev, RefusedState, "it is running; cancel it first")
	case Completed, Skipped:
		return r.refuse(ev, RefusedState, "it is already %s", s)
	case Pending, Ready:
		r.end(i, Skipped)
		r.settle()
		return nil
	case Failed, UpstreamFailed, Canceled:
	}
	var seeds []Index
	last := r.lastFailure(i)
	r.move(i, Skipped)
	r.nodes[i].flag = 0
	if last {
		seeds = r.stopped()
	}
	for _, d := range r.Dependants(i) {
		if r.nodes[d].state == UpstreamFailed {
			seeds = append(seeds, d)
		}
	}
	r.revive(seeds, nil)
	r.resumeItems()
	return nil
}

func (r *Run) rerun(ev Event) error {
	if err := r.checkNotEnding(ev); err != nil {
		return err
	}
	if s := r.nodes[ev.Task].state; !s.Terminal() {
		return r.refuse(ev, RefusedState, "it is %s; only a task that has ended can be run again", s)
	}
	all := r.descendants(ev.Task)
	for _, i := range all {
		if r.nodes[i].state == Running {
			return r.refuse(ev, RefusedState, "%q depends on it and is running; cancel it first or wait for it", r.ID(i))
		}
	}
	for _, i := range all {
		switch s := r.nodes[i].state; {
		case s.Terminal():
			r.unsettle(i)
		case s == Ready:
			r.move(i, Pending)
		}
	}
	var seeds []Index
	if r.opts.OnFailure == Stop && r.counts[Failed] == 0 {
		seeds = r.stopped()
	}
	r.revive(seeds, all)
	r.resumeItems()
	return nil
}

func (r *Run) release(ev Event, buf []Decision) ([]Decision, error) {
	if r.phase != phaseHeld {
		return buf, r.refuse(ev, RefusedState, "the run is not held")
	}
	return r.finish(buf), nil
}
