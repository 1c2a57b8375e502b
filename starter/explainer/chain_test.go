package explainer

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func waitsFor(object, run, item string, actions ...action.Action) explain.Reason {
	return explain.Reason{Code: contract.CodeClaimHeld, Object: object, Detail: "held by " + run, Holder: &explain.Holder{Run: run, Item: item}, Remedy: "wait, or cancel", Actions: actions}
}

func TestChainLeadsToTheRoot(t *testing.T) {
	t.Parallel()
	cancel := []action.Action{{Label: "Cancel"}}
	approve := []action.Action{{Label: "Approve"}}
	own := explain.Reason{Code: contract.CodeGlobalLimit, Detail: "one at a time"}
	from := Explanation{Name: "a", Reasons: []explain.Reason{own, waitsFor("x", "b", "", cancel...)}}
	known := map[string]Explanation{
		"b":   {State: "waiting", Reasons: []explain.Reason{own, waitsFor("y", "c", "1", cancel...)}},
		"c/1": {State: "running", Nothing: "it runs"},
	}
	chain := func() []Link {
		return chainOf(from, func(thing string) (Explanation, error) {
			found, ok := known[thing]
			if !ok {
				return found, errors.New("no " + thing)
			}
			return found, nil
		})
	}
	first := Link{Holder: explain.Holder{Run: "b"}, Holds: "x", Code: contract.CodeClaimHeld, State: "waiting", Because: contract.CodeClaimHeld, Detail: "held by c"}
	root := Link{Holder: explain.Holder{Run: "c", Item: "1"}, Holds: "y", Code: contract.CodeClaimHeld, State: "running", Detail: "it runs", Remedy: "wait, or cancel", Actions: cancel}
	assert.Equal(t, []Link{first, root}, chain(), "a root that continues has the remedy of the wait")

	known["c/1"] = Explanation{State: "waiting", Reasons: []explain.Reason{{Code: contract.CodeApproval, Detail: "go?", Remedy: "approve", Actions: approve}}}
	root.State, root.Because, root.Detail, root.Remedy, root.Actions = "waiting", contract.CodeApproval, "go?", "approve", approve
	assert.Equal(t, []Link{first, root}, chain(), "a root that waits has its own")

	known["c/1"] = Explanation{State: "running", Reasons: []explain.Reason{{Code: contract.CodeOutcome, Detail: "lost", Remedy: "wait"}}}
	root.State, root.Because, root.Detail, root.Remedy, root.Actions = "running", contract.CodeOutcome, "lost", "wait", nil
	assert.Equal(t, []Link{first, root}, chain(), "a remedy may have no action")

	delete(known, "c/1")
	root.State, root.Because, root.Detail, root.Remedy, root.Actions = "", "", "no c/1", "wait, or cancel", cancel
	assert.Equal(t, []Link{first, root}, chain(), "a holder that cannot be explained is the root")

	known["b"] = Explanation{State: "waiting", Reasons: []explain.Reason{waitsFor("y", "a", "")}}
	assert.Len(t, chain(), 1, "a circle is followed once")
	assert.Empty(t, chainOf(Explanation{Reasons: []explain.Reason{own}}, nil))
}

func TestChainIsBounded(t *testing.T) {
	t.Parallel()
	asked := 0
	chain := chainOf(Explanation{Reasons: []explain.Reason{waitsFor("x", "r0", "")}}, func(string) (Explanation, error) {
		asked++
		return Explanation{Reasons: []explain.Reason{waitsFor("x", "r"+strconv.Itoa(asked), "")}}, nil
	})
	assert.Len(t, chain, maxChain)
	assert.Equal(t, maxChain, asked)
}
