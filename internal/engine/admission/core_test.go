package admission

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"

	"github.com/roundsman/roundsman/jobtype"
)

// play is a core that has recovered, and a clock.
type play struct {
	d   *Core
	now time.Time
}

func ready() *play {
	p := &play{d: New(epoch, Durable{}), now: epoch}
	p.step(Expected{Final: true})
	return p
}

// step omits the decisions [Waits], see [TestWaitingIsAnswered].
func (p *play) step(event Event) []Decision {
	return slices.DeleteFunc(p.all(event), func(d Decision) bool { _, waits := d.(Waits); return waits })
}

func (p *play) all(event Event) []Decision {
	return append([]Decision(nil), p.d.Next(p.now, event)...)
}

// TestWaitingIsAnswered: each request for resources and each repeat is answered at once, granted
// or not, even during a recovery.
func TestWaitingIsAnswered(t *testing.T) {
	p := ready()
	ask := func(id string) []Decision {
		return p.all(Requested{Holder: group(id), Items: []Request{volume("v", "volume/1")}})
	}
	require.IsType(t, Granted{}, ask("a")[0])
	require.Equal(t, []Decision{Waits{group("b"), "v"}}, ask("b"))
	require.Equal(t, []Decision{Waits{group("b"), "v"}}, ask("b"))
	granted := p.all(Requested{Holder: group("a"), ReleaseAll: true})
	require.Len(t, granted, 1)
	require.IsType(t, Granted{}, granted[0])

	p = &play{d: New(epoch, Durable{}), now: epoch}
	require.Equal(t, []Decision{Waits{group("b"), "v"}}, ask("b"), "nothing is granted while it recovers")
}

func group(id string) Holder { return Holder{WorkflowID: id, FirstRunID: "1"} }

func (p *play) ask(who string, r Request) []Decision {
	return p.step(Requested{Holder: group(who), JobType: who, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Items: []Request{r}})
}

func (p *play) release(who string) []Decision {
	return p.step(Requested{Holder: group(who), ReleaseAll: true})
}

func told(decisions []Decision) []string {
	var list []string
	for _, decision := range decisions {
		switch d := decision.(type) {
		case Granted:
			list = append(list, d.Holder.WorkflowID+" granted")
		case Refused:
			list = append(list, d.Holder.WorkflowID+" "+d.Code)
		case Lost:
			list = append(list, d.Holder.WorkflowID+" lost")
		case Stopped:
			if d.DedupeKey != "" {
				list = append(list, d.Holder.WorkflowID+" key stopped")
			} else {
				list = append(list, d.Holder.WorkflowID+" stopped")
			}
		}
	}
	return list
}

func turn() Request { return Request{ID: "lane", Lane: "default"} }

func TestLaneGoesAlphabetically(t *testing.T) {
	t.Parallel()
	p := ready()
	assert.Equal(t, []string{"m granted"}, told(p.ask("m", turn())))
	for _, who := range []string{"z", "c", "a"} {
		assert.Empty(t, p.ask(who, turn()))
	}
	assert.Equal(t, []string{"a granted"}, told(p.release("m")))
	assert.Empty(t, p.ask("b", turn()), "who comes later is still before z and c")
	assert.Equal(t, []string{"b granted"}, told(p.release("a")))
	assert.Empty(t, p.ask("a", turn()), "a had its turn while c and z waited")
	assert.Equal(t, []string{"c granted"}, told(p.release("b")))
	assert.Equal(t, []string{"z granted"}, told(p.release("c")))
	assert.Equal(t, []string{"a granted"}, told(p.release("z")))
}

func TestLanesAreIndependent(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	assert.Equal(t, []string{"b granted"}, told(p.ask("b", Request{ID: "lane", Lane: "night"})))
}

func TestSecondGroupOfATypeIsCoalesced(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	p.ask("b", turn())
	decisions := p.step(Requested{Holder: group("b-again"), JobType: "b", Items: []Request{turn()}})
	assert.Equal(t, []string{"b-again COALESCED"}, told(decisions))
	require.IsType(t, Refused{}, decisions[0])
}

func TestDistinctWorkIsNotCoalesced(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	own := turn()
	own.Distinct = true
	for _, who := range []string{"b-adhoc-1", "b-adhoc-2"} {
		assert.Empty(t, p.step(Requested{Holder: group(who), JobType: "b", Items: []Request{own}}), who)
	}
	assert.Empty(t, p.ask("b", turn()), "it does not do what they do")
	assert.Equal(t, []string{"b-adhoc-1 granted"}, told(p.release("a")))
	assert.Equal(t, []string{"b-adhoc-2 granted"}, told(p.release("b-adhoc-1")))
	assert.Equal(t, []string{"b granted"}, told(p.release("b-adhoc-2")))
}

func TestKeysAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "k", Keys: keyBytes(1, 2, 3)})
	decisions := p.ask("b", Request{ID: "k", Keys: keyBytes(3, 4), Fences: 1000})
	require.Len(t, decisions, 1)
	assert.Equal(t, Granted{
		group("b"), contract.AdmissionGrant{ID: "k", Fence: fenceFloor(epoch) + 1, Fences: 1000, Taken: []Taken{{By: "a", Indexes: []int{0}}}},
	}, decisions[0])
	by, held := p.d.KeyHolder(4)
	assert.True(t, held)
	assert.Equal(t, "b", by.WorkflowID)
	p.release("a")
	third, ok := p.ask("c", Request{ID: "k", Keys: keyBytes(3)})[0].(Granted)
	require.True(t, ok)
	assert.Empty(t, third.Taken)
	p.release("b")
	_, held = p.d.KeyHolder(3)
	assert.True(t, held, "b gives back only what it had")
}

func TestKeysHaveALimit(t *testing.T) {
	t.Parallel()
	p := ready()
	assert.Equal(t, []string{"a FULL"}, told(p.ask("a", Request{ID: "k", Keys: PackKeys(make([]uint64, MaxKeys+1))})))
	assert.Empty(t, p.d.Holders())
}

func db(n int) Request { return Request{ID: "db", Pools: []Amount{{Pool: "db", N: n, Size: 5}}} }

func TestPoolsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	p := ready()
	both := Request{ID: "both", Pools: []Amount{{Pool: "db", N: 3, Size: 5}, {Pool: "net", N: 1}}}
	assert.Equal(t, []string{"a granted"}, told(p.ask("a", both)))
	assert.Empty(t, p.ask("b", both), "net is undeclared, its size is 1")
	assert.Equal(t, []string{"c granted"}, told(p.ask("c", db(2))), "b took nothing of db while it waits")
	assert.Equal(t, []string{"b granted"}, told(p.release("a")))
}

func TestWhatCanNeverBeGrantedIsRefused(t *testing.T) {
	t.Parallel()
	p := ready()
	assert.Equal(t, []string{"a TOO_LARGE"}, told(p.ask("a", db(6))))
	assert.Equal(t, []string{"a TOO_LARGE"}, told(p.ask("a", Request{ID: "u", Pools: []Amount{{Pool: "undeclared", N: 2}}})))
	assert.Equal(t, []string{"a INVALID"}, told(p.ask("a", Request{ID: "x", Lane: "l", Keys: keyBytes(1)})))
	p.ask("a", db(5))
	p.ask("b", db(4))
	assert.Equal(t, []string{"b TOO_LARGE"}, told(p.step(Resized{Pool: "db", Size: 3})))
}

func TestResizeTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", db(5))
	p.ask("b", db(5))
	assert.Equal(t, []string{"b granted"}, told(p.step(Resized{Pool: "db", Size: 10})))
	p.step(Resized{Pool: "db", Size: 5})
	p.ask("c", db(1))
	assert.Empty(t, p.release("a"), "5 of 5 are still in use")
	assert.Equal(t, []string{"c granted"}, told(p.release("b")))
}

func TestPriorityThenOrder(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", db(5))
	for _, who := range []string{"normal-1", "high", "normal-2"} {
		r := db(5)
		if who == "high" {
			r.Priority = 2
		}
		p.ask(who, r)
	}
	var order []string
	for _, who := range []string{"a", "high", "normal-1"} {
		order = append(order, told(p.release(who))...)
	}
	assert.Equal(t, []string{"high granted", "normal-1 granted", "normal-2 granted"}, order)
}

// TestNobodyStarves: with any requests and priorities of others, a request is granted after
// MaxOvertakes overtakes and the end of the holders of its resources.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := ready()
		p.ask("first", db(3))
		require.Empty(t, p.ask("large", db(rapid.IntRange(3, 5).Draw(t, "large"))))
		held := []string{"first"}
		for i := range 200 {
			who := fmt.Sprintf("small-%d", i)
			r := db(rapid.IntRange(1, 2).Draw(t, "n"))
			r.Priority = rapid.IntRange(0, 3).Draw(t, "priority")
			granted := p.ask(who, r)
			held = append(held, who)
			if rapid.Bool().Draw(t, "release") || len(held) > 8 {
				granted = append(granted, p.release(held[0])...)
				held = held[1:]
			}
			if slices.Contains(told(granted), "large granted") {
				require.LessOrEqual(t, i, 80)
				return
			}
		}
		t.Fatal("large starves")
	})
}

// A task holds a tape while its sub-DAG runs. The needs of the sub-DAG must not be reserved for
// a request that waits for the tape: neither would ever continue.
func TestWhatIsNeededWithinAHolderIsNotKeptForThoseWhoWaitForIt(t *testing.T) {
	t.Parallel()
	p := ready()
	both := Request{ID: "r", Pools: []Amount{{Pool: "db", N: 1}, {Pool: "tape", N: 1}}}
	one := func(pool string) Request { return Request{ID: "r", For: "sub", Pools: []Amount{{Pool: pool, N: 1}}} }
	p.ask("busy", one("db"))
	require.Empty(t, p.ask("both", both))
	for i := range MaxOvertakes {
		who := fmt.Sprintf("small-%d", i)
		require.Equal(t, []string{who + " granted"}, told(p.ask(who, one("tape"))))
		p.release(who)
	}
	p.ask("dag/outer", one("tape"))
	p.release("busy")
	assert.Empty(t, p.ask("other", one("db")), "it is kept")
	assert.Empty(t, p.ask("dag/outer/subtle", one("db")), "that is another task's")
	assert.Equal(t, []string{"dag/outer/sub granted"}, told(p.ask("dag/outer/sub", one("db"))))
	p.release("dag/outer/sub")
	assert.Equal(t, []string{"dag/outer/sub/deep/er granted"}, told(p.ask("dag/outer/sub/deep/er", one("db"))))
	p.release("dag/outer/sub/deep/er")
	assert.Equal(t, []string{"both granted"}, told(p.release("dag/outer")))
}

func TestObjects(t *testing.T) {
	t.Parallel()
	p := ready()
	volume := func(shared bool) Request {
		return Request{ID: "v", Objects: []Object{{Name: "volume/42", Shared: shared}}}
	}
	p.ask("reader-1", volume(true))
	assert.Equal(t, []string{"reader-2 granted"}, told(p.ask("reader-2", volume(true))))
	assert.Empty(t, p.ask("writer", volume(false)))
	assert.Empty(t, p.release("reader-1"))
	assert.Equal(t, []string{"writer granted"}, told(p.release("reader-2")))
	assert.Empty(t, p.ask("reader-3", volume(true)))
	view := p.d.View(everything{}).Objects
	require.Len(t, view, 1)
	assert.Equal(t, "writer", view[0].Holders[0].WorkflowID)
	assert.Equal(t, "reader-3", view[0].Waiting[0].WorkflowID)
}

func TestEndOfAHolderFreesTheLaneAtOnceAndClaimsLater(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	p.ask("a", Request{ID: "k", Keys: keyBytes(1)})
	p.ask("a", db(5))
	p.ask("b", turn())
	p.ask("b", db(5))
	p.ask("c", turn())
	assert.Equal(t, []string{"b granted"}, told(p.step(Closed{Holder: group("a")})), "the lane")
	assert.Equal(t, []Holder{group("b"), group("c")}, p.d.Holders())
	assert.Equal(t, p.now.Add(grace), p.d.NextDeadline())
	assert.Empty(t, p.step(Closed{Holder: group("a")}), "once is enough")
	p.now = p.now.Add(grace)
	assert.Equal(t, []string{"b granted"}, told(p.step(Tick{})), "the pool")
	assert.Empty(t, p.step(Closed{Holder: group("c")}), "who only waits is dropped")
	assert.Equal(t, []Holder{group("b")}, p.d.Holders())
}

func TestRecoveryGrantsNothingUntilEverybodyWasHeard(t *testing.T) {
	t.Parallel()
	p := &play{d: New(epoch, Durable{}), now: epoch}
	assert.Empty(t, p.ask("w1", turn()))
	assert.Empty(t, p.ask("w2", db(5)))
	assert.Empty(t, p.ask("w3", Request{ID: "k", Keys: keyBytes(7, 8)}))
	p.step(Expected{IDs: []string{"h1", "h2", "w1", "dead"}})
	held := Held{AdmissionItem: Request{ID: "lane", Lane: "default"}, Fence: fenceFloor(epoch) + 500}
	assert.Empty(t, p.step(Requested{Holder: group("h1"), JobType: "h1", Reassert: true, Held: []Held{held}}))
	assert.Empty(t, p.step(Requested{Holder: group("h2"), JobType: "h2", Reassert: true, Held: []Held{
		{AdmissionItem: db(5)}, {AdmissionItem: Request{ID: "k", Keys: keyBytes(7)}},
	}}))
	assert.Empty(t, p.step(Expected{Final: true}))
	assert.Empty(t, p.step(Requested{Holder: group("w1"), JobType: "w1", Reassert: true, Items: []Request{turn()}}))
	decisions := p.step(Closed{Holder: group("dead")})
	assert.Equal(t, []string{"w3 granted"}, told(decisions), "the lane and the pool are held")
	grant, ok := decisions[0].(Granted)
	require.True(t, ok)
	assert.Equal(t, []Taken{{By: "h2", Indexes: []int{0}}}, grant.Taken)
	assert.Greater(t, grant.Fence, held.Fence)
	assert.Equal(t, []string{"w1 granted"}, told(p.release("h1")))
	assert.Equal(t, []string{"w2 granted"}, told(p.release("h2")))
}

func TestRecoveryDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	p := &play{d: New(epoch, Durable{}), now: epoch}
	p.ask("w", turn())
	p.step(Expected{IDs: []string{"silent"}, Final: true})
	assert.Equal(t, epoch.Add(RecoveryLimit), p.d.NextDeadline())
	p.now = epoch.Add(RecoveryLimit)
	assert.Equal(t, []string{"w granted"}, told(p.step(Tick{})))
	decisions := p.step(Requested{Holder: group("silent"), JobType: "silent", Reassert: true, Held: []Held{{AdmissionItem: turn()}}})
	assert.Equal(t, []string{"silent lost"}, told(decisions), "and who comes too late is told")
}

// TestHoldersAreListedAgain: admission grants nothing before the list of holders, or before the limit of the recovery.
func TestHoldersAreListedAgain(t *testing.T) {
	t.Parallel()
	p := &play{d: New(epoch, Durable{}), now: epoch}
	p.ask("w", turn())
	assert.Empty(t, p.step(Unlisted{Reason: "too large"}))
	assert.Equal(t, "too large", p.d.View(contract.AdmissionFilter{}).Unlisted)
	assert.True(t, p.d.Asking())
	assert.Equal(t, epoch.Add(listPause), p.d.ListAt())
	assert.Equal(t, epoch.Add(listPause), p.d.NextDeadline())
	p.now = epoch.Add(listPause)
	assert.Empty(t, p.step(Tick{}))
	assert.Equal(t, epoch.Add(RecoveryLimit), p.d.NextDeadline(), "they are being listed")
	p.now = epoch.Add(RecoveryLimit)
	assert.Equal(t, []string{"w granted"}, told(p.step(Tick{})))
	assert.Empty(t, p.step(Unlisted{Reason: "late"}))
	assert.Zero(t, p.d.ListAt())
	assert.Empty(t, p.d.View(contract.AdmissionFilter{}).Unlisted)
}

func TestResetDeskForgetsAndAsks(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("old", turn())
	p.step(Resized{Pool: "db", Size: 9})
	p.step(Recover{Durable: Durable{Fence: fenceFloor(epoch.Add(time.Hour))}})
	recovering, _ := p.d.Recovering()
	require.True(t, recovering)
	p.step(Requested{Holder: group("new"), JobType: "new", Reassert: true, Held: []Held{{AdmissionItem: turn()}}})
	p.step(Expected{Final: true})
	assert.Equal(t, "new", p.d.View(everything{}).Lanes[0].Holder.WorkflowID)
	grant, ok := p.ask("x", db(9))[0].(Granted)
	require.True(t, ok, "the operator's size is kept")
	assert.GreaterOrEqual(t, grant.Fence, fenceFloor(epoch.Add(time.Hour)))
}

func TestReassertForgetsWhatIsNotNamed(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	p.ask("a", db(5))
	p.ask("b", turn())
	decisions := p.step(Requested{Holder: group("a"), JobType: "a", Reassert: true, Held: []Held{{AdmissionItem: db(5)}}})
	assert.Equal(t, []string{"b granted"}, told(decisions))
}

// A longer heartbeat timeout applies to resources held before it.
func TestALongerGraceHoldsForWhatIsHeld(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}})
	p.step(Requested{Holder: group("a"), JobType: "a", Grace: jobtype.Duration(3 * grace)})
	p.step(Requested{Holder: group("a"), JobType: "a", Grace: jobtype.Duration(grace)})
	p.ask("b", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}})
	p.step(Closed{Holder: group("a")})
	p.now = p.now.Add(2 * grace)
	assert.Empty(t, told(p.step(Tick{})))
	p.now = p.now.Add(grace)
	assert.Equal(t, []string{"b granted"}, told(p.step(Tick{})))
}

// A group that was terminated and then reset has the same id and the same first run. It
// continues with its grants, which must not be given to others.
func TestAHolderThatSpeaksAgainHasNotEnded(t *testing.T) {
	t.Parallel()
	p := ready()
	require.Equal(t, []string{"a granted"}, told(p.ask("a", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}})))
	p.step(Closed{Holder: group("a")})
	p.now = p.now.Add(grace / 2)
	require.Equal(t, []string{"a granted"}, told(p.ask("a", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}})))
	assert.Empty(t, told(p.ask("b", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}})))
	p.now = p.now.Add(10 * grace)
	assert.Empty(t, told(p.step(Tick{})), "it works on")
	assert.Contains(t, p.d.Holders(), group("a"), "and is watched")
	p.step(Closed{Holder: group("a")})
	p.now = p.now.Add(grace)
	assert.Equal(t, []string{"b granted"}, told(p.step(Tick{})))
}
