package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func (p *play) past(filter contract.PastGrantsFilter) []contract.PastGrant {
	return p.d.Past(filter).Grants
}

// TestReleasedGrantsAreRemembered: a record has the holder, the times and the wait. Claims of
// keys, and requests that were never granted, are not recorded.
func TestReleasedGrantsAreRemembered(t *testing.T) {
	t.Parallel()
	p := ready()
	began := p.now
	p.ask("a", Request{ID: "lane", Lane: "disk"})
	p.ask("b", Request{ID: "lane", Lane: "disk", Distinct: true})
	p.ask("c", Request{ID: "lane", Lane: "disk", Distinct: true})
	p.ask("a", Request{ID: "keys", Keys: keyBytes(1, 2)})
	p.ask("a", Request{ID: "job-1", For: "job-1", Pools: []Amount{{Pool: "db", N: 2, Size: 3}}, Objects: []Object{{Name: "volume/1"}, {Name: "rack/2", Shared: true}}})
	p.pass(time.Minute)
	p.release("c") // It was never granted.
	p.release("a")
	p.pass(time.Hour)
	p.release("b")

	found := p.past(contract.PastGrantsFilter{})
	require.Len(t, found, 3)
	assert.Equal(t, contract.PastGrant{
		Seq: 3, WorkflowID: "b", JobType: found[0].JobType, Lane: "disk",
		RequestedAt: began, GrantedAt: began.Add(time.Minute), ReleasedAt: began.Add(time.Minute + time.Hour),
	}, found[0])
	byObject := p.past(contract.PastGrantsFilter{Object: "rack/2"})
	require.Len(t, byObject, 1)
	assert.Equal(t, "job-1", byObject[0].For)
	assert.Equal(t, []contract.AdmissionAmount{{Pool: "db", N: 2}}, byObject[0].Pools)
	assert.Equal(t, []contract.AdmissionObject{{Name: "rack/2", Shared: true}, {Name: "volume/1"}}, byObject[0].Objects)
	assert.Equal(t, byObject, p.past(contract.PastGrantsFilter{Pool: "db"}))
	assert.Len(t, p.past(contract.PastGrantsFilter{Lane: "disk"}), 2)
	assert.Len(t, p.past(contract.PastGrantsFilter{WorkflowID: "a"}), 2)
	assert.Empty(t, p.past(contract.PastGrantsFilter{Lane: "other"}))
}

// TestPastIsReadPageByPage: each release is on one page, the last one first, from both rings.
func TestPastIsReadPageByPage(t *testing.T) {
	t.Parallel()
	p := ready()
	for i := range 25 {
		p.pass(time.Second)
		item := Request{ID: "r", Lane: "disk"}
		if i%3 == 0 {
			item = Request{ID: "r", Objects: []Object{{Name: "volume"}}}
		}
		p.ask(fmt.Sprint("g", i), item)
		p.release(fmt.Sprint("g", i))
	}
	var seqs []int64
	filter, more := contract.PastGrantsFilter{Limit: 4}, true
	for more {
		page := p.d.Past(filter)
		for _, g := range page.Grants {
			seqs = append(seqs, g.Seq)
		}
		more, filter.Before = page.More, seqs[len(seqs)-1]
	}
	require.Len(t, seqs, 25)
	for i, seq := range seqs {
		assert.EqualValues(t, 25-i, seq)
	}
}

// TestPastIsBounded: releases of jobs do not displace turns in lanes, and holders and waiters
// displace both.
func TestPastIsBounded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	p := ready()
	p.ask("first", Request{ID: "lane", Lane: "disk"})
	p.release("first")
	for i := range 5_000 {
		p.ask(fmt.Sprint("g", i), Request{ID: "r", For: noise(r, 9), Objects: []Object{{Name: noise(r, 30)}}})
		p.release(fmt.Sprint("g", i))
	}
	assert.LessOrEqual(t, p.d.past.uses.weight, maxPastWeight)
	assert.Greater(t, p.d.past.uses.weight, maxPastWeight*9/10)
	assert.Len(t, p.past(contract.PastGrantsFilter{Lane: "disk"}), 1)
	assert.LessOrEqual(t, packedBytes(t, p.d), 2*maxPastWeight)
	found := p.d.Past(contract.PastGrantsFilter{})
	assert.EqualValues(t, 5_001, found.Released)
	assert.Less(t, found.Kept, 1_000)

	p.d.past.makeRoom(1_000)
	assert.LessOrEqual(t, p.d.past.uses.weight+p.d.past.turns.weight, 1_000)
	p.d.past.makeRoom(-1)
	assert.Empty(t, p.past(contract.PastGrantsFilter{}))
}

func TestPastTravels(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "lane", Lane: "disk"})
	p.ask("b", Request{ID: "lane", Lane: "disk", Distinct: true})
	p.pass(time.Minute)
	p.release("a")
	p.ask("b", Request{ID: "job-1", Pools: []Amount{{Pool: "db", N: 1, Size: 3}}})
	p.release("b")
	want := p.d.Past(contract.PastGrantsFilter{})
	require.Len(t, want.Grants, 3)

	data, err := json.Marshal(p.d.Snapshot())
	require.NoError(t, err)
	var saved Snapshot
	require.NoError(t, json.Unmarshal(data, &saved))
	next, err := Restore(saved)
	require.NoError(t, err)
	assert.Equal(t, want, next.Past(contract.PastGrantsFilter{}))

	data, err = json.Marshal(p.d.Durable())
	require.NoError(t, err)
	var durable Durable
	require.NoError(t, json.Unmarshal(data, &durable))
	assert.Equal(t, want, New(p.now, durable).Past(contract.PastGrantsFilter{}))
}

// TestWaitOfAHolderTravels: the wait of a holder is recorded even if admission continued as new
// in between.
func TestWaitOfAHolderTravels(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "lane", Lane: "disk"})
	p.ask("b", Request{ID: "lane", Lane: "disk", Distinct: true})
	p.pass(time.Minute)
	p.release("a")
	next, err := Restore(p.d.Snapshot())
	require.NoError(t, err)
	p.d = next
	p.release("b")
	last := p.past(contract.PastGrantsFilter{})[0]
	assert.Equal(t, time.Minute, last.GrantedAt.Sub(last.RequestedAt))
}

// TestAnAssertedHoldIsNotARelease: an assertion of a reset holder replaces its record and frees
// nothing.
func TestAnAssertedHoldIsNotARelease(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("a", Request{ID: "lane", Lane: "disk"})
	p.reset("a", []Held{{AdmissionItem: Request{ID: "lane", Lane: "disk"}, Fence: 1, Since: p.now}})
	assert.Empty(t, p.past(contract.PastGrantsFilter{}))
}
