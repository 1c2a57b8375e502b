package workflows

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
)

// Bounds of an explanation: a person reads it.
const (
	maxWaits   = 20
	maxSubDAGs = 20
)

// explain answers what the run, or one task of it, waits for.
func (r *dagRun) explain(in contract.ExplainQueryInput) (contract.ExplainQueryResult, error) {
	if r.flow == nil {
		return contract.ExplainQueryResult{State: "preparing", Waits: []contract.WaitReason{{
			Code: string(flow.WaitStarting), Detail: "the run is being prepared: its graph is compiled",
		}}}, nil
	}
	if in.Task != "" {
		return r.explainTask(in.Task), nil
	}
	waits, more := r.flow.RunWaits(maxWaits)
	result := contract.ExplainQueryResult{State: r.phase(), Waits: r.waitReasons(waits), More: more}
	if r.flow.Run().Paused() && !r.flow.Run().Finished() {
		result.State = "paused"
	}
	result.SubDAGs, result.Running = r.flow.SubDAGs(maxSubDAGs)
	return result, nil
}

func (r *dagRun) explainTask(id string) contract.ExplainQueryResult {
	i, ok := r.flow.Run().Lookup(id)
	if !ok {
		return contract.ExplainQueryResult{Unknown: true, Similar: r.flow.Similar(id)}
	}
	view := r.flow.View(i)
	result := contract.ExplainQueryResult{
		Kind: string(view.Kind), State: view.State.String(), Worker: view.Worker, StartedAt: view.StartedAt, Waits: r.waitReasons(r.flow.Waits(i)),
	}
	if view.State == dag.Running && len(result.Waits) > 0 {
		result.State = "waiting"
	}
	return result
}

func (r *dagRun) waitReasons(waits []flow.Wait) []contract.WaitReason {
	var list []contract.WaitReason
	for _, w := range waits {
		reason := contract.WaitReason{Code: string(w.Code), Object: w.Object, Since: w.Since, Until: w.Until, Detail: w.Detail}
		if w.Ask > 0 {
			reason.Object = taskAskID(r.flow.Run().ID(w.Task), w.Ask)
		}
		list = append(list, reason)
	}
	return list
}
