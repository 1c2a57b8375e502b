package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// class is a kind of task as placement sees it: all tasks of a class can run on
// the same workers, so that one look at the workers decides for all of them,
// and a class that finds none does not hold up the others.
type class struct {
	key              string
	handler, jobType string
	node             string
	labels           map[string]string
	shared           bool
	waiting          []*task // in the order in which they became able to start
	// blockedAt is the epoch in which no worker was found.
	blockedAt int
	// nobodySince is when the last worker that could serve it, busy or not, went
	// away; zero while there is one.
	nobodySince time.Time
}

// unblock lets every class look for a worker again.
func (f *Flow) unblock() { f.epoch++ }

// enqueue makes a task wait for a worker.
func (f *Flow) enqueue(t *task, now time.Time) {
	if t.class == nil && f.lookUp(t) {
		return
	}
	if t.class == nil {
		t.class = f.classOf(t)
	}
	f.watch()
	f.seq++
	t.phase, t.queuedAt, t.until, t.seq = phaseWaiting, now, time.Time{}, f.seq
	t.class.waiting = append(t.class.waiting, t)
	if t.class.blockedAt == f.epoch || !t.class.nobodySince.IsZero() {
		// Nobody will look at it soon, or those who do have noted already that no
		// worker can serve it: its own patience must be watched.
		f.expectWorker(t, now)
	}
}

// Watching reports whether the run has asked to be told of the fleet.
func (f *Flow) Watching() bool { return f.watching }

// watch asks for the fleet, once.
func (f *Flow) watch() {
	if !f.watching {
		f.watching = true
		f.decide(Decision{Kind: Watch, Task: dag.None})
	}
}

// lookUp makes a task wait for its job type; false if it is known.
func (f *Flow) lookUp(t *task) bool {
	name := t.definition.JobType
	if _, ok := f.cfg.JobTypes[name]; ok || t.definition.Kind != spec.KindJobType {
		return false
	}
	t.phase = phaseLookup
	waiting, asked := f.lookups[name]
	f.lookups[name] = append(waiting, t)
	if !asked {
		f.decide(Decision{Kind: LookUp, Task: dag.None, ID: name})
	}
	return true
}

// SetJobType answers a [LookUp]. problem says why there is none; its tasks fail
// with it, and a later one asks again.
func (f *Flow) SetJobType(now time.Time, name string, found JobType, problem string) []Decision {
	f.begin()
	f.roll.progress = true
	waiting := f.lookups[name]
	delete(f.lookups, name)
	if problem == "" {
		f.cfg.JobTypes[name] = found
	}
	for _, t := range waiting {
		switch {
		case t.phase != phaseLookup:
		case problem != "":
			f.fail(t, problem, now)
		default:
			f.enqueue(t, now)
		}
	}
	f.fireTimers(now)
	return f.advance(now)
}

// classOf finds what the task asks of its worker; its job type is known.
func (f *Flow) classOf(t *task) *class {
	c := class{handler: CommandHandler, node: t.rendered.Node, labels: t.rendered.Labels}
	if c.node == "" && len(c.labels) == 0 {
		c.node, c.labels = f.cfg.Node, f.cfg.Labels
	}
	if t.definition.Kind == spec.KindJobType {
		c.jobType = t.definition.JobType
		jobType := f.cfg.JobTypes[c.jobType]
		c.handler = jobType.Handler
		c.shared = jobType.Policy.Routing == jobtype.RoutingShared && c.node == "" && len(c.labels) == 0
	}
	c.key = c.spell()
	if known := f.byKey[c.key]; known != nil {
		return known
	}
	f.byKey[c.key] = &c
	f.classes = append(f.classes, &c)
	return &c
}

func (c *class) spell() string {
	var key strings.Builder
	key.WriteString(c.handler + "\x00" + c.jobType + "\x00" + c.node)
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		key.WriteString("\x00" + name + "=" + c.labels[name])
	}
	return key.String()
}

// policy is what an attempt of this class runs under, but for the task's own
// settings.
func (f *Flow) policy(c *class) jobtype.Policy {
	if c.jobType != "" {
		return f.cfg.JobTypes[c.jobType].Policy.WithDefaults()
	}
	// A command says nothing unless it prints ::progress; only its end and its
	// timeout tell.
	return jobtype.Policy{Liveness: jobtype.LivenessProcess}.WithDefaults()
}

// place starts what waits for a worker, in the order of waiting, as far as there
// are places. Tasks wait in the order in which dag.Run started them.
func (f *Flow) place(now time.Time) {
	for !f.roll.hold && !f.run.Paused() {
		c := f.nextClass()
		if c == nil {
			return
		}
		found := f.pick(c, c.waiting[0], now)
		if found.Worker == nil && !(c.shared && found.Possible) {
			c.blockedAt = f.epoch
			f.wakeToTry(found.Again)
			f.noteNobody(c, found.Possible, now)
			continue
		}
		t := c.waiting[0]
		f.noteWait(placement.NoteNoWorker, t, c.missing(), c.nobodySince, now)
		c.nobodySince = time.Time{}
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		f.send(t, found.Worker, now)
	}
}

// nextClass is the class whose first task has waited longest, among those that
// are not blocked.
func (f *Flow) nextClass() *class {
	var best *class
	for _, c := range f.classes {
		if c.blockedAt == f.epoch {
			continue
		}
		for len(c.waiting) > 0 && c.waiting[0].phase != phaseWaiting {
			c.waiting = c.waiting[1:]
		}
		if len(c.waiting) > 0 && (best == nil || c.waiting[0].seq < best.waiting[0].seq) {
			best = c
		}
	}
	return best
}

func (f *Flow) pick(c *class, t *task, now time.Time) placement.Choice[Offer] {
	if c.shared {
		able := slices.ContainsFunc(f.fleet.Members(), func(w *Worker) bool {
			return w.Alive() && slices.Contains(w.Offer.Shared, c.jobType)
		})
		return placement.Choice[Offer]{Possible: able}
	}
	want := c.want()
	want.Avoid = t.avoid
	return f.fleet.Pick(want, now)
}

// slots is how many tasks of the class a worker can run at once.
func (c *class) slots(o Offer) int {
	limit, ok := o.Handlers[c.handler]
	if !ok || len(o.JobTypes) > 0 && !slices.Contains(o.JobTypes, c.jobType) {
		return 0
	}
	if limit > 0 {
		return min(limit, o.Slots)
	}
	return o.Slots
}

// noteNobody remembers since when nobody could serve a class. A task that finds
// no worker waits at most its timeout; one that is pinned to a node that is
// OFFLINE does not wait at all.
func (f *Flow) noteNobody(c *class, possible bool, now time.Time) {
	if possible {
		c.nobodySince = time.Time{}
		return
	}
	if w := f.fleet.Find(c.node); w != nil && w.Offline {
		waiting := c.waiting
		c.waiting = nil
		for _, t := range waiting {
			if t.phase == phaseWaiting {
				f.note(placement.Refused, placement.NoteNoWorker, t, "worker "+c.node+" is OFFLINE", 0)
				f.fail(t, "it is pinned to worker "+c.node+", which is OFFLINE", now)
			}
		}
		return
	}
	if !c.nobodySince.IsZero() {
		return
	}
	c.nobodySince = now
	for _, t := range c.waiting {
		if t.phase == phaseWaiting {
			f.expectWorker(t, now)
		}
	}
}

// expectWorker bounds how long a task waits while nobody could serve it.
func (f *Flow) expectWorker(t *task, now time.Time) {
	f.timers.push(timer{at: now.Add(f.timeout(t)), kind: timerNoWorker, task: t.i, attempt: t.attempt})
}

// giveUpWaiting fails a task for which there was no worker during its timeout.
func (f *Flow) giveUpWaiting(t *task, now time.Time) {
	c := t.class
	if c.nobodySince.IsZero() {
		return
	}
	since := c.nobodySince
	if t.queuedAt.After(since) {
		since = t.queuedAt
	}
	if left := f.timeout(t) - now.Sub(since); left > 0 {
		f.timers.push(timer{at: now.Add(left), kind: timerNoWorker, task: t.i, attempt: t.attempt})
		return
	}
	f.note(placement.Refused, placement.NoteNoWorker, t, c.missing(), f.timeout(t))
	f.fail(t, fmt.Sprintf("%s for %s", c.missing(), f.timeout(t)), now)
}

// missing says what kind of worker is not there.
func (c *class) missing() string {
	switch {
	case c.shared:
		return fmt.Sprintf("no worker pulls the shared queue of %s (start one with --shared %s)", c.jobType, c.jobType)
	case c.node != "":
		return fmt.Sprintf("worker %s is not available with handler %s", c.node, c.handler)
	case len(c.labels) > 0:
		return fmt.Sprintf("no worker with handler %s and labels %s is available", c.handler, placement.Labels(c.labels))
	}
	return fmt.Sprintf("no worker with handler %s is available", c.handler)
}

// timeout bounds one attempt: the task's own, else that of its job type.
func (f *Flow) timeout(t *task) time.Duration {
	if limit := t.definition.Timeout.Std(); limit > 0 {
		return limit
	}
	if t.class != nil && t.class.jobType != "" {
		return f.policy(t.class).ExecutionTimeout.Std()
	}
	return spec.DefaultTimeout.Std()
}

// maxCarried bounds what one attempt carries: the server refuses payloads over
// 2 MiB, again and again.
const maxCarried = 1536 << 10

// send starts an attempt on a worker, or on the shared queue if w is nil.
func (f *Flow) send(t *task, w *Worker, now time.Time) {
	policy := f.policy(t.class)
	if own := t.definition.HeartbeatTimeout; own > 0 {
		policy.HeartbeatTimeout = own
		policy.StallTimeout = own
	}
	f.fence++
	t.fence = f.fence
	job := &Job{
		Handler: t.class.handler, JobType: t.class.jobType, Labels: t.class.labels, Fence: f.fence,
		Checkpoint: t.checkpoint, Timeout: f.timeout(t), Policy: policy, Params: encodeParams(t.rendered.Params),
	}
	switch t.definition.Kind {
	case spec.KindCommand:
		job.Command = t.rendered.Command
	case spec.KindNoop:
		job.Command = []string{"true"}
	case spec.KindJobType, spec.KindSleep, spec.KindApproval, spec.KindDAG:
	}
	size := f.bytesOf(t.class, job)
	if size > maxCarried {
		f.fail(t, fmt.Sprintf("its command, params and checkpoint have %d bytes, the limit is %d: pass a reference instead of the data", size, maxCarried), now)
		return
	}
	t.worker, t.instance = "", ""
	if w != nil {
		t.worker, t.instance = w.ID, w.Instance
		w.Take(t.class.want(), now)
	}
	job.Worker, job.Instance = t.worker, t.instance
	f.launch(t, Decision{Kind: StartJob, Job: job, Bytes: size}, now)
}

// bytesOf estimates what an attempt carries.
func (f *Flow) bytesOf(c *class, job *Job) int {
	size := len(job.Params) + len(job.Checkpoint)
	for _, word := range job.Command {
		size += len(word)
	}
	if c.jobType != "" {
		size += f.cfg.JobTypes[c.jobType].Bytes
	}
	return size
}

func encodeParams(params map[string]any) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	// They came out of JSON and templates, so they go into JSON; keys are sorted.
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil
	}
	return encoded
}
