package dagrun

import (
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
)

func (g *waits) itemWait(use dag.ChainUse, i dag.Index) Wait {
	var ids, states []string
	for _, open := range g.run.OpenItems(use.Name, maxNamed) {
		ids = append(ids, g.run.ID(open))
		states = append(states, g.run.ID(open)+" "+g.doing(open))
	}
	detail := explain.TextItemsInFlight(use.Name, use.InFlight, use.Limit, states)
	since := g.fanSince[itemsKey(use.Name)]
	if !use.Full() {
		detail, since = explain.TextHalfDone(use.Name), g.startedAt
	}
	return Wait{Wait: run.Wait{Code: contract.CodeItemsInFlight, Object: strings.Join(ids, ", "), Since: since, Detail: detail}, Task: i}
}

func (g *waits) stoppedWait(i dag.Index) (w Wait, ok bool) {
	by := g.run.StoppedBy(i)
	if by == dag.None {
		return w, false
	}
	_, item, _ := strings.Cut(g.run.ID(by), ".")
	_, since := g.times(by)
	if since.IsZero() {
		since = g.startedAt
	}
	return Wait{Wait: run.Wait{
		Code: contract.CodeItemFailed, Object: g.run.ID(by), Since: since,
		Detail: explain.TextItemStopped(item, g.run.ID(by), g.doing(by)),
	}, Task: i}, true
}

// itemsKey is the key of a chain among the times of fan-outs. No fan-out has a dot in its name.
func itemsKey(name string) string { return name + ".items" }

func (g *waits) noteItems(now time.Time) {
	for _, c := range g.run.Chains() {
		g.noteSince(itemsKey(c.Name), c.Full(), now)
	}
}

func (g *waits) noteSince(key string, full bool, now time.Time) {
	switch since := g.fanSince[key]; {
	case !full:
		delete(g.fanSince, key)
	case since.IsZero():
		if g.fanSince == nil {
			g.fanSince = map[string]time.Time{}
		}
		g.fanSince[key] = now
	}
}
