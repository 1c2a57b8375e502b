package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	sixty    = time.Hour
	wholeDay = 24 * time.Hour
)

func keyBudget(count int) *Budget {
	return &Budget{PerKey: &Rule{Count: count, Window: jobtype.Duration(sixty), DisableFor: jobtype.Duration(wholeDay)}}
}

func hashOf(key string) uint64 { return contract.DedupeHash("scrub", key) }

func (p *play) fails(who string, b *Budget, attempt int, keys ...string) []Decision {
	e := Requested{Holder: group(who), JobType: "scrub", Budget: b, Endings: []Endings{{At: p.now}}}
	for _, key := range keys {
		e.Endings[0].Failed = append(e.Endings[0].Failed, Failure{
			DedupeKey: key, Attempt: fmt.Sprintf("%s.%d", key, attempt), At: p.now, Error: "disk on fire",
		})
	}
	return p.step(e)
}

// claims requests keys as a group and returns those that are held back.
func (p *play) claims(t *testing.T, who string, b *Budget, keys ...string) []string {
	t.Helper()
	var hashes []uint64
	for _, key := range keys {
		hashes = append(hashes, hashOf(key))
	}
	r := Request{ID: "k", Keys: PackKeys(hashes)}
	decisions := p.step(Requested{Holder: group(who), JobType: "scrub", Grace: jobtype.Duration(grace), Budget: b, Items: []Request{r}})
	require.Len(t, decisions, 1)
	granted, ok := decisions[0].(Granted)
	require.True(t, ok)
	var off []string
	for _, one := range granted.HeldBack {
		off = append(off, keys[one.Index]+" "+one.Code)
	}
	return off
}

func (p *play) pass(d time.Duration) { p.now = p.now.Add(d) }

func TestTheCountthFailureDisablesTheKey(t *testing.T) {
	t.Parallel()
	p := ready()
	for i := range 2 {
		p.fails("g", keyBudget(3), i, "a")
		assert.Empty(t, p.claims(t, fmt.Sprint("h", i), keyBudget(3), "a", "b"))
		p.release(fmt.Sprint("h", i))
		p.pass(time.Minute)
	}
	p.fails("g", keyBudget(3), 1, "a")
	p.fails("g", keyBudget(3), 2, "a")
	assert.Equal(t, []string{"a RETRY_BUDGET"}, p.claims(t, "x", keyBudget(3), "a", "b"))
	p.release("x")
	held := p.d.HeldBack("", p.now)
	require.Len(t, held, 1)
	types, keys := p.d.CountHeldBack(p.now)
	assert.Equal(t, []int{0, 1}, []int{types, keys})
	assert.Equal(t, "scrub", held[0].JobType)
	assert.Equal(t, "a", held[0].DedupeKey)
	assert.Equal(t, 3, held[0].Failures)
	assert.Equal(t, p.now.Add(wholeDay), held[0].Until)
	assert.Contains(t, held[0].String(), "after 3 failures within 1h; the last one: disk on fire")

	assert.Empty(t, p.claims(t, "y", nil, "a"), "whoever has no budget is not held back")
	p.release("y")
	p.pass(wholeDay)
	assert.Empty(t, p.claims(t, "z", keyBudget(3), "a"), "by time")
	assert.Empty(t, p.d.HeldBack("", p.now))
}

func TestFailuresLeaveTheWindow(t *testing.T) {
	t.Parallel()
	p := ready()
	for i := range 10 {
		p.fails("g", keyBudget(3), i, "a")
		p.pass(sixty / 2)
	}
	assert.Empty(t, p.d.HeldBack("", p.now), "never three within an hour")
}

func TestRepeatsAreCountedOnce(t *testing.T) {
	t.Parallel()
	p := ready()
	for range 5 {
		p.fails("g", keyBudget(2), 1, "a")
		p.pass(60 * time.Millisecond) // The last workflow task of the group is repeated, at its own time.
	}
	assert.Empty(t, p.d.HeldBack("", p.now))
	p.fails("other", keyBudget(2), 1, "a")
	assert.Len(t, p.d.HeldBack("", p.now), 1, "another holder's failure is another one")
}

func TestASuccessForgetsTheKey(t *testing.T) {
	t.Parallel()
	p := ready()
	p.fails("g", keyBudget(2), 1, "a")
	p.pass(time.Second)
	p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: keyBudget(2), Endings: []Endings{{At: p.now, Done: keyBytes(hashOf("a"))}}})
	p.pass(time.Second)
	p.fails("g2", keyBudget(2), 1, "a")
	assert.Empty(t, p.d.HeldBack("", p.now))
	p.pass(time.Second)
	p.fails("g2", keyBudget(2), 2, "a")
	assert.Len(t, p.d.HeldBack("", p.now), 1)
	p.pass(time.Second)
	p.step(Requested{Holder: group("g2"), JobType: "scrub", Budget: keyBudget(2), Endings: []Endings{{At: p.now, Done: keyBytes(hashOf("a"))}}})
	assert.Empty(t, p.d.HeldBack("", p.now), "an attempt that still ran has completed")
}

// TestHardTimeout: an old series breaks the rule with any count.
func TestHardTimeout(t *testing.T) {
	t.Parallel()
	p := ready()
	b := &Budget{PerKey: &Rule{Window: jobtype.Duration(sixty), HardTimeout: jobtype.Duration(10 * sixty), DisableFor: jobtype.Duration(wholeDay)}}
	for i := range 5 {
		p.fails("g", b, i, "a")
		p.pass(2 * sixty)
	}
	assert.Empty(t, p.d.HeldBack("", p.now))
	p.fails("g", b, 5, "a")
	held := p.d.HeldBack("", p.now)
	require.Len(t, held, 1)
	assert.Contains(t, held[0].String(), "failing for 10h without a success")
}

// TestHardTimeoutOfAType: any success of the type breaks its series, and failures within the
// window still count.
func TestHardTimeoutOfAType(t *testing.T) {
	t.Parallel()
	p := ready()
	b := &Budget{PerType: &Rule{Count: 4, Window: jobtype.Duration(20 * sixty), HardTimeout: jobtype.Duration(3 * sixty), DisableFor: jobtype.Duration(wholeDay)}}
	p.fails("g", b, 1, "a")
	p.pass(2 * sixty)
	p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: b, Endings: []Endings{{At: p.now, SuccessAt: p.now}}})
	p.pass(2 * sixty)
	p.fails("g", b, 2, "b")
	p.fails("g", b, 3, "")
	assert.Nil(t, p.d.TypeHold("scrub", p.now))
	p.fails("g", b, 4, "c")
	require.NotNil(t, p.d.TypeHold("scrub", p.now))
	assert.Equal(t, 4, p.d.TypeHold("scrub", p.now).Failures)
}

// TestADisabledTypeStartsNothing: running groups get a stop; waiting and later groups are
// refused until the type is re-enabled.
func TestADisabledTypeStartsNothing(t *testing.T) {
	t.Parallel()
	p := ready()
	b := &Budget{PerType: &Rule{Count: 2, Window: jobtype.Duration(sixty), DisableFor: jobtype.Duration(sixty)}}
	ask := func(who string, r Request) []string {
		decisions := p.step(Requested{Holder: group(who), JobType: "scrub", Budget: b, Items: []Request{r}})
		return told(decisions)
	}
	assert.Equal(t, []string{"g granted"}, ask("g", turn()))
	assert.Empty(t, ask("w", turn()))
	assert.Equal(t, []string{"s granted"}, ask("s", Request{ID: "start", Start: true}))
	assert.Equal(t, []string{"g stopped", "w RETRY_BUDGET", "s stopped"}, told(p.fails("g", b, 1, "a", "b")))
	assert.Equal(t, []string{"x RETRY_BUDGET"}, ask("x", turn()))
	assert.Equal(t, []string{"y RETRY_BUDGET"}, ask("y", Request{ID: "start", Start: true}))
	assert.Equal(t, []string{"z granted"}, ask("z", Request{ID: "fences", Fences: 5}), "who is at it may continue")
	again := p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: b, Reassert: true, Held: []Held{{AdmissionItem: turn(), Fence: 1}}})
	assert.Equal(t, []string{"g stopped"}, told(again), "it may not have heard")
	require.NoError(t, p.d.CheckReEnable(ReEnabled{JobType: "scrub"}, p.now))
	p.step(ReEnabled{JobType: "scrub"})
	assert.Equal(t, []string{"y granted"}, ask("y", Request{ID: "start", Start: true}))
	require.ErrorContains(t, p.d.CheckReEnable(ReEnabled{JobType: "scrub"}, p.now), "is not disabled")
	p.pass(time.Second)
	p.fails("g", b, 2, "a")
	assert.Nil(t, p.d.TypeHold("scrub", p.now), "its failures were forgotten")
}

func TestTheHolderOfAKeyIsToldThatItIsHeldBack(t *testing.T) {
	t.Parallel()
	p := ready()
	b := keyBudget(1)
	assert.Empty(t, p.claims(t, "g", b, "a", "b"))
	assert.Equal(t, []string{"g key stopped"}, told(p.fails("g", b, 1, "a")))
	assert.Equal(t, []string{"g key stopped"}, told(p.fails("g", b, 1, "a")), "told again when it tells again")
	mark := MarkedDone{contract.MarkDoneInput{JobType: "scrub", DedupeKey: "b", By: "ann"}, p.now.Add(sixty)}
	require.NoError(t, p.d.CheckMarkDone(mark, p.now))
	decisions := p.step(mark)
	assert.Equal(t, []string{"g key stopped"}, told(decisions))
	stopped, ok := decisions[0].(Stopped)
	require.True(t, ok)
	assert.Contains(t, stopped.String(), "marked as done by ann until 2026-01-02T04:04:05Z")
	anew := p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: b, Reassert: true, Held: []Held{{AdmissionItem: Request{ID: "k", Keys: keyBytes(hashOf("b"))}, Fence: 1}}})
	assert.Equal(t, []string{"g key stopped"}, told(anew), "it may not have heard")
	p.release("g")
	assert.Equal(t, []string{"b MARKED_DONE"}, p.claims(t, "h", nil, "b"), "a mark needs no budget")
	require.ErrorContains(t, p.d.CheckReEnable(ReEnabled{JobType: "scrub", DedupeKey: "b"}, p.now), "roundsman resume")
	forgive := Forgiven{JobType: "scrub", DedupeKey: "b"}
	require.NoError(t, p.d.CheckForgive(forgive, p.now))
	p.step(forgive)
	assert.Empty(t, p.claims(t, "i", nil, "b"))
	require.ErrorContains(t, p.d.CheckForgive(forgive, p.now), "nothing is held against")
	mark.Until = p.now
	require.ErrorContains(t, p.d.CheckMarkDone(mark, p.now), "use 1s to")
}

func TestForgivenIsForgiven(t *testing.T) {
	t.Parallel()
	p := ready()
	p.fails("g", keyBudget(2), 1, "a")
	report := Requested{Holder: group("g"), JobType: "scrub", Budget: keyBudget(2), Endings: []Endings{{Failed: []Failure{{DedupeKey: "a", Attempt: "late", At: p.now}}}}}
	p.pass(time.Second)
	p.step(Forgiven{JobType: "scrub", DedupeKey: "a"})
	p.step(report)
	p.pass(time.Second)
	p.fails("g", keyBudget(2), 2, "a")
	failures, off := p.d.KeyRecord("scrub", "a", p.now)
	assert.Equal(t, 1, failures)
	assert.Nil(t, off)
}

// TestKeysAreFreeWhenTheirJobsEnd: a key is free when its job ends, not only when the group
// ends, and only its holder can free it.
func TestKeysAreFreeWhenTheirJobsEnd(t *testing.T) {
	t.Parallel()
	p := ready()
	p.claims(t, "g", nil, "a", "b", "c")
	p.step(Requested{Holder: group("other"), Endings: []Endings{{Done: keyBytes(hashOf("c"))}}})
	ended := Requested{Holder: group("g"), Endings: []Endings{{Done: keyBytes(hashOf("a")), Settled: keyBytes(hashOf("b"))}}}
	p.step(ended)
	decisions := p.ask("h", Request{ID: "k", Keys: keyBytes(hashOf("a"), hashOf("b"), hashOf("c"))})
	granted, ok := decisions[0].(Granted)
	require.True(t, ok)
	assert.Equal(t, []Taken{{By: "g", Indexes: []int{2}}}, granted.Taken)
	p.step(ended)
	by, held := p.d.KeyHolder(hashOf("a"))
	assert.True(t, held, "a repeat does not free what another has now")
	assert.Equal(t, "h", by.WorkflowID)
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	p := ready()
	b := keyBudget(2)
	p.fails("g", b, 1, "off")
	p.pass(time.Millisecond)
	p.fails("g", b, 2, "off")
	p.pass(time.Millisecond)
	p.fails("g", b, 1, "oldest")
	for i := range MaxTrackedKeys {
		p.pass(time.Millisecond)
		p.fails("g", b, 1, fmt.Sprint("k", i))
	}
	keys, dropped := p.d.Tracked()
	assert.Equal(t, MaxTrackedKeys, keys)
	assert.Equal(t, 2, dropped)
	failures, _ := p.d.KeyRecord("scrub", "oldest", p.now)
	assert.Zero(t, failures, "forgotten first")
	_, off := p.d.KeyRecord("scrub", "off", p.now)
	assert.NotNil(t, off)
	p.pass(2 * sixty)
	p.fails("g", b, 3, "new")
	keys, _ = p.d.Tracked()
	assert.Equal(t, 2, keys, "what left the window says nothing any more")
}

func TestTheDurablePartOutlivesTheDesk(t *testing.T) {
	t.Parallel()
	p := ready()
	p.step(Resized{Pool: "db", Size: 7})
	p.fails("g", keyBudget(1), 1, "a")
	data, err := json.Marshal(p.d.Durable())
	require.NoError(t, err)
	var kept Durable
	require.NoError(t, json.Unmarshal(data, &kept))
	p.d = New(p.now, kept)
	recovering, _ := p.d.Recovering()
	assert.True(t, recovering)
	p.step(Expected{Final: true})
	assert.Equal(t, 7, p.d.View(everything{}).Pools[0].Size)
	assert.Equal(t, []string{"a RETRY_BUDGET"}, p.claims(t, "h", keyBudget(1), "a"))
	p.step(Recover{})
	assert.Len(t, p.d.HeldBack("scrub", p.now), 1, "a reset does not take it away")
}

// ledger is the naive reference: it keeps all failures and counts them all each time.
type ledger struct {
	rule        Rule
	fails       map[int64]bool
	first, from int64
	until       int64
	mark        bool
}

func (l *ledger) fail(at, now int64) {
	if l.until > now || at <= l.from || l.fails[at] {
		return
	}
	l.mark = false
	l.fails[at] = true
	newest, n := int64(0), 0
	for f := range l.fails {
		newest = max(newest, f)
	}
	for f := range l.fails {
		if f > newest-l.rule.Window.Std().Milliseconds() && f > l.from {
			n++
		}
	}
	if l.first == 0 || at < l.first {
		l.first = at
	}
	if l.rule.Count > 0 && n >= l.rule.Count || l.rule.HardTimeout > 0 && newest-l.first >= l.rule.HardTimeout.Std().Milliseconds() {
		l.until = newest + l.rule.DisableFor.Std().Milliseconds()
		l.clear(newest)
	}
}

func (l *ledger) clear(at int64) {
	l.from, l.first = max(l.from, at), 0
	for f := range l.fails {
		if f > l.from && (l.first == 0 || f < l.first) {
			l.first = f
		}
	}
}

// TestBudgetAgainstAModel: random failures, repeats, successes and operators. The core goes
// through Snapshot and Restore before every step.
func TestBudgetAgainstAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{
			Count:      rapid.IntRange(0, 4).Draw(t, "count"),
			Window:     jobtype.Duration(rapid.IntRange(1, 60).Draw(t, "window")) * jobtype.Duration(time.Second),
			DisableFor: jobtype.Duration(rapid.IntRange(1, 60).Draw(t, "disable")) * jobtype.Duration(time.Second),
		}
		if rule.Count == 0 || rapid.Bool().Draw(t, "hard") {
			rule.HardTimeout = jobtype.Duration(rapid.IntRange(1, 90).Draw(t, "hard timeout")) * jobtype.Duration(time.Second)
		}
		p, budget := ready(), Budget{PerKey: &rule}
		keys := []string{"a", "b"}
		models := map[string]*ledger{}
		for _, key := range keys {
			models[key] = &ledger{rule: rule, fails: map[int64]bool{}}
		}
		var told []Requested
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			// The time is unique to a step, so it names an attempt.
			p.pass(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
			now := p.now.UnixMilli()
			key := rapid.SampledFrom(keys).Draw(t, "key")
			m, hash := models[key], hashOf(key)
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0, 1, 2, 3, 4:
				e := Requested{Holder: group("g"), JobType: "scrub", Budget: &budget, Endings: []Endings{{At: p.now, Failed: []Failure{{DedupeKey: key, Attempt: fmt.Sprint(now), At: p.now}}}}}
				told = append(told, e)
				p.step(e)
				m.fail(now, now)
			case 5:
				if len(told) > 0 {
					e := told[rapid.IntRange(max(0, len(told)-3), len(told)-1).Draw(t, "again")]
					f := e.Endings[0].Failed[0]
					// A failure outside the window may be dropped, and then counts as new.
					if p.now.Sub(f.At) < rule.Window.Std() {
						p.step(e)
						models[f.DedupeKey].fail(f.At.UnixMilli(), now)
					}
				}
			case 6:
				p.step(Requested{Holder: group("g"), JobType: "scrub", Budget: &budget, Endings: []Endings{{At: p.now, Done: keyBytes(hash)}}})
				m.clear(now)
				if !m.mark {
					m.until = 0
				}
			case 7:
				p.step(ReEnabled{JobType: "scrub", DedupeKey: key})
				if m.until > now && !m.mark {
					m.until = 0
					m.clear(now)
				}
			case 8:
				p.step(Forgiven{JobType: "scrub", DedupeKey: key})
				m.until, m.mark = 0, false
				m.clear(now)
			case 9:
				p.step(MarkedDone{contract.MarkDoneInput{JobType: "scrub", DedupeKey: key}, p.now.Add(10 * time.Second)})
				m.clear(now)
				m.until, m.mark = now+10_000, true
			}
			p.d = reborn(t, p.d)
			for _, key := range keys {
				off := p.d.outcomes.keyOff(hashOf(key), &budget, p.now)
				require.Equal(t, models[key].until > now, off != nil, "key %s at %s", key, p.now)
				if off != nil {
					require.Equal(t, models[key].until, off.Until.UnixMilli())
					require.Equal(t, models[key].mark, off.Code == contract.HoldMarkedDone)
				}
			}
		}
	})
}

func reborn(t *rapid.T, d *Core) *Core {
	data, err := json.Marshal(d.Snapshot())
	require.NoError(t, err)
	var s Snapshot
	require.NoError(t, json.Unmarshal(data, &s))
	again, err := Restore(s)
	require.NoError(t, err)
	return again
}
