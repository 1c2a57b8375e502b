package dispatch

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// Worker is one worker as this group may use it.
type Worker struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// State is for people; Online and Offline are what decides.
	State   string `json:"state"`
	Online  bool   `json:"online"`
	Offline bool   `json:"offline"`
	// Fresh: it beat lately. Beat grows when it becomes fresh again.
	Fresh  bool              `json:"fresh"`
	Beat   int64             `json:"beat"`
	Labels map[string]string `json:"labels,omitempty"`
	// Detect, Execute and Shared say what it offers for this job type.
	Detect  bool `json:"detect"`
	Execute bool `json:"execute"`
	Shared  bool `json:"shared"`
	// Slots is how many jobs of this type it can run at once, Total how many of
	// all types; 0: as many as Slots.
	Slots int `json:"slots"`
	Total int `json:"total,omitempty"`
	// Gone: OFFLINE, and not because it said goodbye and still ends its work.
	Gone bool `json:"gone,omitempty"`
	// Fenced are incarnations of this id that lost it to the current one.
	Fenced []string `json:"fenced,omitempty"`
}

// worker is a member of the group's fleet.
type worker = placement.Member[Worker]

// fleet is the group's own view of the workers.
type fleet struct {
	placement.Fleet[Worker]
	// restored: probes were lost with the run before.
	restored bool
	// watching: the group asked to be told of changes.
	watching bool
}

// update takes a new view of the workers.
func (f *fleet) update(view []Worker) {
	members := make([]worker, len(view))
	for i, seen := range view {
		members[i] = worker{Worker: seen.seen(), Offer: seen}
	}
	f.Update(members)
}

// seen is what every placement needs to know of the worker.
func (w Worker) seen() placement.Worker {
	return placement.Worker{
		ID: w.ID, Instance: w.Instance, State: w.State, Online: w.Online, Offline: w.Offline,
		Fresh: w.Fresh, Beat: w.Beat, Labels: w.Labels, Gone: w.Gone, Fenced: w.Fenced,
	}
}

// places is how many jobs of the group's type the worker can run at once.
func (w Worker) places() int {
	if !w.Execute {
		return 0
	}
	return w.Slots
}

// sharedPossible reports whether any worker pulls the shared queue.
func (f *fleet) sharedPossible() bool {
	return slices.ContainsFunc(f.Members(), func(w *worker) bool { return w.Offer.Execute && w.Offer.Shared && w.Alive() })
}

func (e WorkersChanged) apply(g *Group, now time.Time) {
	g.workers.update(e.Workers)
	g.queue.unblock()
	g.seeAgain(now)
	g.loseGone(now)
	g.resumeHeld(now)
}

func (e WorkerProbed) apply(g *Group, now time.Time) {
	g.hearBeat(e, now)
	if e.Alive && g.workers.Trust(e.ID, e.Instance) {
		g.queue.unblock()
		g.seeAgain(now)
		g.resumeHeld(now)
	}
}

// doubt keeps work from a worker that lost some until it shows that it lives.
func (g *Group) doubt(id, instance string) {
	if g.workers.Doubt(id, instance) {
		g.decide(ProbeWorker{ID: id, Instance: instance})
	}
}

func (g *Group) cool(id, instance string, pause time.Duration, now time.Time) {
	if until := now.Add(pause); g.workers.Cool(id, instance, until) {
		g.timers.push(timer{at: until, kind: timerWake})
	}
}
