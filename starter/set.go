package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/setting"
)

// Set changes settings of an open run at once, for this run only. A refusal is the
// error; nothing was changed then. Setting what is set already changes nothing. A run
// of a DAG has one of the settings: concurrency.
func (r Runs) Set(ctx context.Context, ref RunRef, change setting.Change) ([]contract.FieldChange, error) {
	if ref.Kind() == KindDAG {
		return r.setDAG(ctx, ref, change)
	}
	if change[setting.Every] != nil {
		return nil, Invalidf("every is a setting of the job type: `roundsman jobtypes set %s every=…`", JobTypeOfRun(ref.WorkflowID))
	}
	if _, err := r.opened(ctx, ref, ": change the job type with `roundsman jobtypes set`"); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	var result contract.SetPolicyResult
	// Without the run id, so that the message follows a continue-as-new.
	err = r.client.update(ctx, RunRef{WorkflowID: ref.WorkflowID}, contract.UpdateSetPolicy, &result, contract.SetPolicyInput{Change: encoded, By: r.client.operator.actor})
	if err != nil {
		return nil, err
	}
	return setting.Compare(setting.Flat(result.Before), setting.Flat(result.After)), nil
}

func (r Runs) setDAG(ctx context.Context, ref RunRef, change setting.Change) ([]contract.FieldChange, error) {
	var n int
	if len(change) != 1 || change[setting.Concurrency] == nil || json.Unmarshal(change[setting.Concurrency], &n) != nil {
		return nil, Invalidf("run %s is that of a DAG: concurrency=N is the one setting that it can change", ref.WorkflowID)
	}
	before, err := r.Show(ctx, ref)
	if err != nil {
		return nil, err
	}
	if _, err := r.client.DAGs().SetConcurrency(ctx, ref, n, r.client.operator.actor); err != nil {
		return nil, err
	}
	was := ""
	if before.DAGStatus != nil {
		was = strconv.Itoa(before.DAGStatus.Concurrency)
	}
	if was == strconv.Itoa(n) {
		return nil, nil
	}
	return []contract.FieldChange{{Path: "concurrency", Before: was, After: strconv.Itoa(n)}}, nil
}
