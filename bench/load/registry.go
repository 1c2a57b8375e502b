package load

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

// watchers is the number of watching workflows, each with its own handler. Every fourth worker serves each of them.
const watchers = 4

type model struct {
	core *fleet.Registry
	now  time.Time
	n    int
	turn int
}

func newModel(n int) *model {
	m := &model{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), n: n}
	m.core = fleet.New(&contract.FleetConfig{}, m.now.Add(-contract.RebuildTime))
	m.core.Next(m.now, fleet.Tick{})
	for i := range watchers {
		m.core.Next(m.now, fleet.Watch{WorkflowID: fmt.Sprintf("group/%d", i), Handler: handler(i)})
	}
	for i := range n {
		m.core.Next(m.now, registration(i, "1"))
	}
	m.next(fleet.Watching{})
	return m
}

func handler(i int) string { return fmt.Sprintf("handler-%d", i%watchers) }

func id(i int) string { return fmt.Sprintf("node-%05d", i) }

func registration(i int, instance string) fleet.Register {
	return fleet.Register{
		ID: id(i), Instance: instance, Host: id(i) + ".example.org", PID: i, MaxDetect: 1, MaxExecute: 4,
		Labels: map[string]string{"rack": fmt.Sprint(i % 40)},
		Capabilities: []contract.Capability{
			{Handler: handler(i), Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: handler(i)}},
		},
	}
}

// next applies an event and does everything that the workflow does with the registry in one turn. It counts a due view
// without rendering it, since that cost depends on its size.
func (m *model) next(event fleet.Event) {
	m.now = m.now.Add(time.Microsecond)
	m.core.Next(m.now, event)
	m.core.Next(m.now, fleet.Tick{})
	_, _ = m.core.NextView(m.now)
	_ = m.core.NextSend(m.now)
	_ = m.core.NextDeadline()
	_ = m.core.Counts(contract.WorkerOnline)
	_, _ = m.core.Away(10)
}

// pick returns another worker in each turn, spread over the fleet.
func (m *model) pick() int {
	m.turn++
	return m.turn * 7919 % m.n
}

func (m *model) observe(changes ...contract.WorkerPulse) {
	m.next(fleet.Observed{SightSince: m.now.Add(-time.Hour), SightUntil: m.now, Changes: changes})
}

func (m *model) pulse(i int, fresh bool) contract.WorkerPulse {
	return contract.WorkerPulse{Incarnation: contract.Incarnation{ID: id(i), Instance: "1"}, LastChange: m.now, Fresh: fresh, Seen: true}
}

// Registry returns the cases of a worker registry with n workers.
func Registry(n int) []Case {
	beats, silence, operators, restarts := newModel(n), newModel(n), newModel(n), newModel(n)
	for i := range n / 2 {
		silence.observe(silence.pulse(2*i, false))
	}
	return []Case{
		{"heartbeat lost and back", 2, func() {
			i := beats.pick()
			beats.observe(beats.pulse(i, false))
			beats.observe(beats.pulse(i, true))
		}},
		{"observation, half of the fleet silent", 1, func() { silence.observe() }},
		{"cordon and uncordon", 2, func() {
			name := id(operators.pick())
			operators.next(fleet.Operate{ID: name, Action: contract.CordonWorker, By: "ann"})
			operators.next(fleet.Operate{ID: name, Action: contract.UncordonWorker, By: "ann"})
		}},
		{"restart of a worker", 2, func() {
			i := restarts.pick()
			before, _ := restarts.core.Worker(id(i))
			restarts.next(fleet.Unregister{ID: id(i), Instance: before.Registration.Instance})
			restarts.next(registration(i, fmt.Sprint(restarts.turn+1)))
		}},
	}
}
