package placement_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/placement"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func member(id string, slots int) placement.Member[int] {
	return placement.Member[int]{
		Worker: placement.Worker{ID: id, Instance: "i1", State: "ONLINE", Online: true, Fresh: true, Labels: map[string]string{"id": id}},
		Offer:  slots,
	}
}

func want() placement.Want[int] {
	return placement.Want[int]{Slots: func(slots int) int { return slots }}
}

func fleet(members ...placement.Member[int]) *placement.Fleet[int] {
	var f placement.Fleet[int]
	f.Update(members)
	return &f
}

func TestPickTakesMostFreeSlotsAndTurnsTies(t *testing.T) {
	t.Parallel()
	f := fleet(member("c", 1), member("a", 2), member("b", 2))
	var order string
	for range 5 {
		found := f.Pick(want(), now)
		require.NotNil(t, found.Worker)
		found.Worker.Take(want(), now)
		order += found.Worker.ID
	}
	assert.Equal(t, "abcab", order)
	found := f.Pick(want(), now)
	assert.Nil(t, found.Worker)
	assert.True(t, found.Possible, "all are busy, none is missing")
	f.Release("b", "i1", "")
	assert.Equal(t, "b", f.Pick(want(), now).Worker.ID)
}

func TestPickHonoursPinsLabelsAvoidanceAndCaps(t *testing.T) {
	t.Parallel()
	f := fleet(member("a", 4), member("b", 2))
	pinned := want()
	pinned.Node = "b"
	assert.Equal(t, "b", f.Pick(pinned, now).Worker.ID)
	labelled := want()
	labelled.Labels = map[string]string{"id": "b"}
	assert.Equal(t, "b", f.Pick(labelled, now).Worker.ID)
	labelled.Labels["id"] = "z"
	assert.False(t, f.Pick(labelled, now).Possible)
	avoiding := want()
	avoiding.Avoid = "a"
	assert.Equal(t, "b", f.Pick(avoiding, now).Worker.ID, "with fewer slots, but not the one to avoid")
	f.Find("b").InFlight = 2
	assert.Equal(t, "a", f.Pick(avoiding, now).Worker.ID, "unless no other is free")
	capped := want()
	capped.PerWorker = 2
	f.Find("a").InFlight = 2
	assert.Nil(t, f.Pick(capped, now).Worker)
}

func TestSuspectWorkerIsTrustedAfterABeat(t *testing.T) {
	t.Parallel()
	f := fleet(member("a", 1))
	assert.True(t, f.Doubt("a", "i1"))
	assert.False(t, f.Doubt("a", "i1"), "it is being probed already")
	assert.False(t, f.Doubt("a", "i0"), "another process")
	assert.False(t, f.Pick(want(), now).Possible)
	f.Update([]placement.Member[int]{member("a", 1)})
	assert.False(t, f.Pick(want(), now).Possible, "the same beat shows nothing")
	newer := member("a", 1)
	newer.Beat = 1
	f.Update([]placement.Member[int]{newer})
	assert.NotNil(t, f.Pick(want(), now).Worker)
	f.Doubt("a", "i1")
	assert.True(t, f.Trust("a", "i1"))
	assert.NotNil(t, f.Pick(want(), now).Worker)
}

// A registry that was rebuilt learns of the workers one by one. What runs on those
// that it does not know yet still counts when it does.
func TestAWorkerThatComesBackIntoViewIsAsBusyAsItWas(t *testing.T) {
	t.Parallel()
	f := fleet(member("a", 3), member("b", 1))
	for range 4 {
		f.Pick(want(), now).Worker.Take(want(), now)
	}
	require.Nil(t, f.Pick(want(), now).Worker)
	f.Update([]placement.Member[int]{member("b", 1)})
	assert.Nil(t, f.Find("a"))
	f.Release("a", "i1", "")
	f.Update(nil)
	f.Release("b", "i1", "")
	f.Update([]placement.Member[int]{member("a", 3), member("b", 1)})
	assert.Equal(t, []int{2, 0}, []int{f.Find("a").InFlight, f.Find("b").InFlight})
	f.Update(nil)
	next := member("a", 3)
	next.Instance = "i2"
	f.Update([]placement.Member[int]{next})
	assert.Zero(t, f.Find("a").InFlight, "another process")
	f.Release("a", "i1", "")
	assert.Zero(t, f.Find("a").InFlight)
}

func TestNewProcessStartsAfresh(t *testing.T) {
	t.Parallel()
	f := fleet(member("a", 1))
	f.Exclude("a", "i1")
	assert.True(t, f.Cool("a", "i1", now.Add(time.Minute)))
	assert.Equal(t, "it does not have the handler", f.Find("a").Reason(now))
	next := member("a", 1)
	next.Instance = "i2"
	f.Update([]placement.Member[int]{next})
	assert.NotNil(t, f.Pick(want(), now).Worker)
	assert.False(t, f.Cool("a", "i1", now.Add(time.Minute)), "the old process is gone")
}
