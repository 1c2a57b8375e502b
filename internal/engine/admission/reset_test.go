package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func (p *play) reset(who string, held []Held, requests ...Request) []Decision {
	return p.step(Requested{Holder: group(who), JobType: who, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Reassert: true, Reset: true, Held: held, Items: requests})
}

func granted(t *testing.T, decisions []Decision) Granted {
	t.Helper()
	require.Len(t, decisions, 1)
	g, ok := decisions[0].(Granted)
	require.True(t, ok, "%+v", decisions)
	return g
}

func volume(id, name string) Request { return Request{ID: id, Objects: []Object{{Name: name}}} }

func TestWhoWasResetLosesWhatIsAnothersByNow(t *testing.T) {
	t.Parallel()
	p := ready()
	first := granted(t, p.ask("a", turn()))
	p.release("a")
	p.ask("b", turn())
	assert.Equal(t, []string{"a lost"}, told(p.reset("a", []Held{{AdmissionItem: turn(), Fence: first.Fence}})))
	assert.Empty(t, p.reset("a", nil, turn()), "it waits for its turn")
	assert.Equal(t, []string{"a granted"}, told(p.release("b")))
}

func TestWhoWasResetGetsNewFences(t *testing.T) {
	t.Parallel()
	p := ready()
	lane := granted(t, p.ask("a", turn()))
	object := granted(t, p.ask("a", volume("job-1.1", "x")))
	p.ask("b", turn())
	p.ask("b", volume("job-1.1", "x"))
	decisions := p.reset("a", []Held{{AdmissionItem: turn(), Fence: lane.Fence}}, volume("job-1.1", "x"))
	assert.Equal(t, []string{"a granted", "a granted"}, told(decisions), "nobody comes between")
	for _, decision := range decisions {
		g, ok := decision.(Granted)
		require.True(t, ok)
		assert.Greater(t, g.Fence, object.Fence)
	}
}

// TestANumberMayStandForAnotherJob: detection after a reset may have another order, so that the
// same id requests something else.
func TestANumberMayStandForAnotherJob(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", volume("job-1.1", "x"))
	p.ask("b", volume("job-1.1", "y"))
	assert.Empty(t, p.reset("a", nil, volume("job-1.1", "y")), "y is b's")
	assert.Equal(t, []string{"c granted"}, told(p.ask("c", volume("job-1.1", "x"))))
	assert.Equal(t, []string{"a granted"}, told(p.release("b")))
}

func TestForgottenThingsAreFreeAfterTheGrace(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", turn())
	p.ask("a", volume("job-1.1", "x"))
	p.ask("a", volume("job-2.1", "y"))
	assert.Empty(t, p.ask("b", volume("job-1.1", "x")))
	p.ask("b", turn())
	assert.Equal(t, []string{"b granted"}, told(p.reset("a", nil)), "a lane is free at once")
	p.now = p.now.Add(grace / 2)
	assert.Empty(t, p.step(Requested{Holder: group("a"), JobType: "a", Grace: jobtype.Duration(grace)}), "its saying something does not bring them back")
	assert.Equal(t, []string{"a granted"}, told(p.ask("a", volume("job-2.1", "y"))), "asking does")
	assert.Equal(t, epoch.Add(grace), p.d.NextDeadline())
	p.now = epoch.Add(grace)
	assert.Equal(t, []string{"b granted"}, told(p.step(Tick{})))
	p.now = p.now.Add(time.Hour)
	assert.Empty(t, p.ask("c", volume("job-1.1", "y")), "what was asked for again stays")
}

func TestKeysOfAClaimBeforeTheResetAreDecidedAnew(t *testing.T) {
	t.Parallel()
	p := ready()
	claims := Request{ID: "claims", Keys: keyBytes(1, 2)}
	before := granted(t, p.ask("a", claims))
	p.step(Requested{Holder: group("a"), Endings: []Endings{{At: p.now, Settled: keyBytes(1)}}})
	p.ask("b", Request{ID: "claims", Keys: keyBytes(1)})
	after := granted(t, p.reset("a", nil, claims))
	assert.Equal(t, []Taken{{By: "b", Indexes: []int{0}}}, after.Taken)
	assert.Greater(t, after.Fence, before.Fence)
	assert.Equal(t, []string{"a lost"}, told(p.reset("a", []Held{{AdmissionItem: claims, Fence: before.Fence}})), "it would do the job of b too")
}

func TestSinceWhenSurvivesARecovery(t *testing.T) {
	t.Parallel()
	p := ready()
	lane := granted(t, p.ask("a", turn()))
	p.now = p.now.Add(time.Hour)
	p.step(Recover{Durable: Durable{Fence: fenceFloor(p.now)}})
	p.step(Expected{IDs: []string{"a"}, Final: true})
	p.step(Requested{Holder: group("a"), JobType: "a", Reassert: true, Held: []Held{{AdmissionItem: turn(), Fence: lane.Fence, Since: epoch}}})
	assert.Equal(t, epoch, p.d.View(everything{}).Lanes[0].Holder.Since)
}

// TestAMessageIsAnsweredOnce: a reset holder has one size in a grant and another one in a request
// that waits. Both are of the same time, so the request must not be refused and queued at once.
func TestAMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	p := ready()
	p.step(Resized{Pool: "net", Size: 1})
	small := Request{ID: "small", Pools: []Amount{{Pool: "db", N: 1, Size: 1}, {Pool: "net", N: 1, Size: 1}}}
	large := Request{ID: "large", Pools: []Amount{{Pool: "db", N: 2, Size: 3}, {Pool: "net", N: 1, Size: 1}}}
	held := granted(t, p.ask("a", small))
	p.ask("a", large)
	decisions := p.reset("a", []Held{{AdmissionItem: small, Fence: held.Fence}}, large)
	require.Len(t, decisions, 2, "%v", decisions)
	assert.Equal(t, []string{"a granted", "a TOO_LARGE"}, told(decisions))
}

// TestAGroupThatWasResetClaimsItsKeysInOtherRequests: its chunks have other jobs. A key that it does not claim again is free after
// the grace.
func TestAGroupThatWasResetClaimsItsKeysInOtherRequests(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "chunk-1", Keys: keyBytes(1, 2, 3), Fences: 3})
	after := granted(t, p.reset("a", nil, Request{ID: "chunk-7", Keys: keyBytes(2, 3, 4), Fences: 3}))
	assert.Empty(t, after.Taken, "they are its own")
	assert.Equal(t, 4, p.d.View(everything{}).Keys)
	others := granted(t, p.ask("b", Request{ID: "chunk-1", Keys: keyBytes(1, 2, 3, 4, 5), Fences: 5}))
	assert.Equal(t, []Taken{{By: "a", Indexes: []int{0, 1, 2, 3}}}, others.Taken)
	p.release("b")
	p.now = p.now.Add(grace)
	p.step(Tick{})
	assert.Equal(t, 3, p.d.View(everything{}).Keys)
	p.step(Requested{Holder: group("a"), Endings: []Endings{{At: p.now, Done: keyBytes(2)}}})
	others = granted(t, p.ask("c", Request{ID: "chunk-1", Keys: keyBytes(1, 2, 3, 4), Fences: 4}))
	assert.Equal(t, []Taken{{By: "a", Indexes: []int{2, 3}}}, others.Taken)
	assert.Equal(t, 4, p.d.View(everything{}).Keys)
	p.release("a")
	p.release("c")
	assert.Zero(t, p.d.View(everything{}).Keys)
}

// TestAnOldClaimKeepsItsKeysForTheGrace, though the group that was reset claims others under the same id: attempts from before
// the reset may live on.
func TestAnOldClaimKeepsItsKeysForTheGrace(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "chunk-1", Keys: keyBytes(1, 2), Fences: 2})
	p.reset("a", nil)
	again := granted(t, p.ask("a", Request{ID: "chunk-1", Keys: keyBytes(2, 3), Fences: 2}))
	assert.Empty(t, again.Taken)
	others := granted(t, p.ask("b", Request{ID: "chunk-1", Keys: keyBytes(1, 2, 3), Fences: 3}))
	assert.Equal(t, []Taken{{By: "a", Indexes: []int{0, 1, 2}}}, others.Taken)
	p.now = p.now.Add(grace)
	p.step(Tick{})
	others = granted(t, p.ask("c", Request{ID: "chunk-1", Keys: keyBytes(1, 2, 3), Fences: 3}))
	assert.Equal(t, []Taken{{By: "a", Indexes: []int{1, 2}}}, others.Taken)
	p.release("a")
	p.release("c")
	assert.Zero(t, p.d.View(everything{}).Keys)
}

// TestALargeClaimSurvivesAReset: its old keys, which stay for the grace, do not count twice.
func TestALargeClaimSurvivesAReset(t *testing.T) {
	t.Parallel()
	p := ready()
	keys := make([]uint64, jobtype.MaxKeyedJobs)
	for i := range keys {
		keys[i] = uint64(i + 1)
	}
	claims := Request{ID: "claims", Keys: PackKeys(keys), Fences: 1}
	granted(t, p.ask("a", claims))
	after := granted(t, p.reset("a", nil, claims))
	assert.Empty(t, after.Taken)
	assert.Equal(t, len(keys), p.d.View(everything{}).Keys)
	others := Request{ID: "claims", Keys: PackKeys([]uint64{1 << 40}), Fences: 1}
	granted(t, p.ask("b", others))
	p.release("a")
	p.release("b")
	assert.Zero(t, p.d.View(everything{}).Keys)
}
