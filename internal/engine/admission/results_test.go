package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func object(name string) Request { return Request{ID: "t.1", Objects: []Object{{Name: name}}} }

func (p *play) done(who, name, result string) []Decision {
	return p.step(Requested{Holder: group(who), Release: []string{"t.1"}, Results: []contract.KeyResult{
		{ID: "t.1", Object: name, Digest: "d", Result: json.RawMessage(result), At: p.now, Task: "t"},
	}})
}

func resultIn(t *testing.T, decisions []Decision) *contract.KeyResult {
	t.Helper()
	require.Len(t, decisions, 1)
	granted, ok := decisions[0].(Granted)
	require.True(t, ok)
	return granted.Result
}

// TestAResultComesWithTheNextGrant: a grant carries the result, even after a restart, until the
// result is old. A shared grant carries none.
func TestAResultComesWithTheNextGrant(t *testing.T) {
	t.Parallel()
	p := ready()
	assert.Nil(t, resultIn(t, p.ask("a", object("key:x"))))
	assert.Empty(t, p.ask("b", object("key:x")))
	p.pass(time.Minute)
	want := &contract.KeyResult{ID: "t.1", Object: "key:x", Digest: "d", Result: []byte(`{"n":1}`), At: p.now, By: "a", Task: "t"}
	assert.Equal(t, want, resultIn(t, p.done("a", "key:x", `{"n":1}`)), "both in one step")
	again := *want
	again.Result = []byte(`{"n":2}`)
	p.step(Requested{Holder: group("a"), Release: []string{"t.1"}, Results: []contract.KeyResult{again}})
	p.release("b")

	saved, err := json.Marshal(p.d.Snapshot())
	require.NoError(t, err)
	var snapshot Snapshot
	require.NoError(t, json.Unmarshal(saved, &snapshot))
	restored, err := Restore(snapshot)
	require.NoError(t, err)
	p.d = restored
	assert.Equal(t, want, resultIn(t, p.ask("c", object("key:x"))), "what is said again changes nothing")
	p.release("c")
	assert.Nil(t, resultIn(t, p.ask("d", Request{ID: "t.1", Objects: []Object{{Name: "key:x", Shared: true}}})))
	p.release("d")
	p.d = New(p.now, p.d.Durable())
	p.step(Expected{Final: true})
	assert.Equal(t, want, resultIn(t, p.ask("e", object("key:x"))))
	p.release("e")
	p.pass(resultsFor + time.Second)
	assert.Nil(t, resultIn(t, p.ask("f", object("key:x"))))
	assert.Zero(t, p.d.results.weight)
}

// TestResultsAreBounded: old results yield to newer ones, and all results yield to holders.
func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	p := ready()
	large := `"` + strings.Repeat("x", contract.MaxKeyResult-2) + `"`
	for i := range 1200 {
		name, result := fmt.Sprintf("key:%d", i), "1"
		if i%2 == 0 {
			result = large
		}
		p.ask("a", object(name))
		p.done("a", name, result)
		p.pass(time.Millisecond)
	}
	assert.LessOrEqual(t, p.d.results.weight, maxResultsWeight)
	assert.Greater(t, p.d.results.weight, maxResultsWeight-2*contract.MaxKeyResult)
	assert.Nil(t, resultIn(t, p.ask("a", object("key:0"))))
	p.release("a")
	assert.NotNil(t, resultIn(t, p.ask("a", object("key:1199"))))
	p.done("a", "key:1199", `"`+strings.Repeat("x", contract.MaxKeyResult)+`"`)
	assert.NotNil(t, resultIn(t, p.ask("a", object("key:1199"))), "one that is too large replaces nothing")

	for i := range 1200 {
		p.step(Requested{Holder: group("a"), Results: []contract.KeyResult{{Object: fmt.Sprintf("key:small/%d", i), At: p.now}}})
	}
	assert.Equal(t, maxResults, p.d.results.order.len())
	for i := 0; p.d.Weight() < MaxWeight-20_000; i++ {
		p.ask("b", Request{ID: fmt.Sprintf("t.%d", i), Objects: []Object{{Name: fmt.Sprintf("%0500d", i)}}})
	}
	assert.LessOrEqual(t, p.d.Weight()+p.d.results.weight, MaxWeight)
	assert.Less(t, p.d.results.order.len(), maxResults)
}
