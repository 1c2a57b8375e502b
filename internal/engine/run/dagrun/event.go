package dagrun

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// Event is an event that only a graph takes: one of the types below, or a [Request].
type Event interface{ apply(g *Graph, now time.Time) }

// Started begins the run. It is the first event.
type Started struct{}

// JobTypeKnown answers [LookUp]. With a Problem its tasks fail, and later tasks look it up again.
type JobTypeKnown struct {
	Name    string
	Found   JobType
	Problem string
}

// TaskStopped keeps a task from another attempt, because admission holds it back.
type TaskStopped struct{ Hold contract.AdmissionHold }

// LaneGranted means that the group has its lane again. An answer to an older request has no effect.
type LaneGranted struct{ Seq int }

// Next takes one event and returns its commands. Items are tasks, by [dag.Index]. The slice is valid until the next call.
func (g *Graph) Next(now time.Time, event source.Event) []source.Command {
	g.out = g.out[:0]
	switch e := event.(type) {
	case run.Event:
		g.engine.Apply(now, e)
	case Started:
		g.must(dag.Event{Kind: dag.EventStart}, now)
	case source.Canceled:
		return g.cancelRun(e.Reason, now)
	case source.CancelItem:
		if _, refused := g.CheckCancel(e); refused != nil {
			return nil
		}
		g.engine.Progressed()
		g.must(dag.Event{Kind: dag.EventCancelTask, Task: dag.Index(e.Item)}, now)
	case Request:
		if g.answer = (Answer{Err: g.Check(e)}); g.answer.Err != nil {
			return nil
		}
		g.engine.Progressed()
		e.apply(g, now)
	default:
		g.engine.Progressed()
		g.apply(event, now)
	}
	return g.advance(now)
}

func (g *Graph) apply(event source.Event, now time.Time) {
	switch e := event.(type) {
	case source.Paused:
		g.pause(e, now)
	case source.Resumed:
		_ = g.feed(dag.Event{Kind: dag.EventResume}, now) // A run that is over refuses, which is as good.
		g.unpause()
	case source.LaneReported:
		g.lane.Subs = g.lane.Subs.With(e.Report)
	case Event:
		e.apply(g, now)
	default:
		panic(fmt.Sprintf("graph: %T is no event", event))
	}
}
