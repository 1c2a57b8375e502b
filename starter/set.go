package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
)

// Set changes settings of an open run, for this run only. A repeated change has no effect. A run of a DAG accepts
// [override.Change.OfDAG] only.
func (r Runs) Set(ctx context.Context, ref RunRef, change override.Change) ([]contract.FieldChange, error) {
	if ref.Kind() == KindDAG {
		return r.setDAG(ctx, ref, change)
	}
	if change[override.Every] != nil || change.HasParams() {
		return nil, Invalidf("every and params are settings of the job type: `roundsman set %s every=…`", JobTypeOfRun(ref.WorkflowID))
	}
	if _, err := r.opened(ctx, ref, ": change the job type with `roundsman set`"); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	result, err := updateRun[contract.SetPolicyResult](ctx, r.client, ref, contract.UpdateSetPolicy, contract.SetPolicyInput{Change: encoded, By: r.client.operator.actor})
	if err != nil {
		return nil, err
	}
	return override.Compare(override.Flat(result.Before), override.Flat(result.After)), nil
}

func (r Runs) setDAG(ctx context.Context, ref RunRef, change override.Change) ([]contract.FieldChange, error) {
	fanOut, n, err := change.OfDAG()
	if err != nil {
		return nil, &InvalidError{Err: fmt.Errorf("run %s is a DAG run: %w", ref.WorkflowID, err)}
	}
	changed, err := r.client.DAGs().SetFanOut(ctx, ref, fanOut, n, r.client.operator.actor)
	if err != nil || changed.Before == n {
		return nil, err
	}
	was := ""
	if changed.Before > 0 {
		was = strconv.Itoa(changed.Before)
	}
	return []contract.FieldChange{{Path: contract.ConcurrencyOf(fanOut), Before: was, After: strconv.Itoa(n)}}, nil
}
