package explainer

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Link is one holder in the chain from a waiting thing to the root.
type Link struct {
	explain.Holder
	// Holds is the lane, pool or object that the previous thing waits for; Code is the code of that wait.
	Holds string        `json:"holds"`
	Code  contract.Code `json:"code"`
	State string        `json:"state,omitempty"`
	// Because is the code of the reason why the holder does not continue, empty if it does.
	Because contract.Code `json:"because,omitempty"`
	// Detail is that reason, or the text for a holder that continues.
	Detail string `json:"detail"`
	// Runs are the runs and items that Detail names, in its order.
	Runs []explain.Holder `json:"runs,omitempty"`
	// Remedy and Actions end the wait of the whole chain. Only the root has them.
	Remedy  string          `json:"remedy,omitempty"`
	Actions []action.Action `json:"actions,omitempty"`
	// Actor is who can end the wait, if no action of the root does.
	Actor string `json:"actor,omitempty"`
}

const maxChain = 8

// chainOf follows holders from the first reason that has one. The last link is the root.
func chainOf(from Explanation, explained func(thing string) (Explanation, error)) []Link {
	var chain []Link
	seen := map[string]bool{from.Name: true}
	held := func(r explain.Reason) bool { return r.Holder != nil && !seen[r.Holder.Thing()] }
	for len(chain) < maxChain {
		at := slices.IndexFunc(from.Reasons, held)
		if at < 0 {
			return chain
		}
		wait := from.Reasons[at]
		link := Link{Holder: *wait.Holder, Holds: wait.Object, Code: wait.Code, Remedy: wait.Remedy, Actions: wait.Actions, Actor: wait.Actor}
		seen[link.Thing()] = true
		next, err := explained(link.Thing())
		if err != nil {
			link.Detail = err.Error()
			return extended(chain, link)
		}
		link.State, link.Detail = next.State, next.Nothing
		if len(next.Reasons) > 0 {
			why := next.Reasons[max(slices.IndexFunc(next.Reasons, held), 0)]
			link.Because, link.Detail, link.Runs = why.Code, why.Detail, why.Runs
			if why.Remedy != "" {
				link.Remedy, link.Actions, link.Actor = why.Remedy, why.Actions, why.Actor
			}
		}
		chain, from = extended(chain, link), next
	}
	return chain
}

// The previous link is no longer the root, so its remedy goes.
func extended(chain []Link, link Link) []Link {
	if len(chain) > 0 {
		last := &chain[len(chain)-1]
		last.Remedy, last.Actions, last.Actor = "", nil, ""
	}
	return append(chain, link)
}
