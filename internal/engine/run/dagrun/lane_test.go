package dagrun_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

func kinds(decisions []decision) (list []run.Kind) {
	for i := range decisions {
		if kind := decisions[i].Kind; kind == releaseLane || kind == requestLane || kind == startNoop || kind == endRun {
			list = append(list, kind)
		}
	}
	return list
}

// TestNoTaskBeginsWithoutTheLane: an approved run requests its lane first, also over a
// continue-as-new.
func TestNoTaskBeginsWithoutTheLane(t *testing.T) {
	t.Parallel()
	compiled := compile(t, `
version: 1
name: gated
tasks:
  - {id: gate, approval: {prompt: "Go on?"}}
  - {id: behind, needs: [gate], noop: true}
`)
	r, err := dagrun.NewRun(compiled)
	require.NoError(t, err)
	cfg := dagrun.Config{Lane: "night"}
	g, err := newGraph(r, cfg, epoch)
	require.NoError(t, err)
	require.Equal(t, []run.Kind{releaseLane}, kinds(g.Start(epoch)))
	restore := func() {
		state, err := g.Snapshot()
		require.NoError(t, err)
		g, err = restoreGraph(compiled, state, cfg, epoch)
		require.NoError(t, err)
	}
	restore()
	decisions, _, err := g.Operate(epoch, dagrun.Request{Kind: dagrun.Approve, Tasks: []string{"gate"}})
	require.NoError(t, err)
	require.Equal(t, []run.Kind{requestLane}, kinds(decisions))
	waits, _ := g.RunWaits(10)
	assert.Equal(t, "LANE_BUSY", string(waits[0].Code))
	restore()
	require.Empty(t, kinds(g.Next(epoch, run.Tick{})))
	require.Empty(t, kinds(g.LaneGranted(epoch, 1)), "an answer to an older report")
	decisions = g.LaneGranted(epoch, 2)
	require.Equal(t, []run.Kind{startNoop}, kinds(decisions))
	item := decisions[slices.IndexFunc(decisions, func(d decision) bool { return d.Kind == startNoop })]
	assert.Equal(t, []run.Kind{endRun}, kinds(g.Next(epoch, run.Ended{Item: item.Item, Attempt: item.Attempt})))
}
