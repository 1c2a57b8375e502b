package jobs

import "github.com/roundsman/roundsman/contract"

// Others counts the running jobs that are not group's, and how many of these the
// handler does. A handler that ignores its canceled context counts whoever it
// worked for: its group does not wait for it any more.
func (a *Activities) Others(group, handler string) (all, ofHandler int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for r := range a.running {
		if r.what.Detection || r.what.GroupID == group && !r.zombie.Load() {
			continue
		}
		all++
		if r.what.Handler == handler {
			ofHandler++
		}
	}
	return all, ofHandler
}

// withOthers tells what else the worker runs.
func (r *attempt) withOthers(state contract.ExecuteState) contract.ExecuteState {
	state.Others, state.OthersOfHandler = r.activities.Others(r.what.GroupID, r.what.Handler)
	return state
}
