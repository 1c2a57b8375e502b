// Package workerview is how workers are shown: what the registry says of them, with
// what their processes say.
package workerview

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// ListedWorker is a worker with what it runs, as far as that is known.
type ListedWorker struct {
	contract.WorkerDetail
	Caps contract.WorkerCaps `json:"caps"`
	Load *starter.WorkerLoad `json:"load,omitempty"`
}

// ListedWorkers adds caps and loads, as [starter.Workers.Loads] reads them, to workers.
func ListedWorkers(workers []contract.WorkerDetail, loads map[string]starter.WorkerLoad) []ListedWorker {
	listed := make([]ListedWorker, len(workers))
	for i, worker := range workers {
		listed[i] = ListedWorker{WorkerDetail: worker, Caps: worker.Registration.Caps()}
		if load, known := loads[worker.Registration.ID]; known && worker.Fresh {
			listed[i].Load = &load
		}
	}
	return listed
}

// ShownWorker is what the registry and the worker's process say.
type ShownWorker struct {
	contract.WorkerDetail
	Caps contract.WorkerCaps `json:"caps"`
	// Report is the process's own answer; Silent says why there is none.
	Report *contract.WorkerReport `json:"report,omitempty"`
	Silent string                 `json:"silent,omitempty"`
	// Items are what open runs have on it, where it has no report. Unanswered says which
	// runs could not be asked.
	Items      []starter.Item `json:"items,omitempty"`
	Unanswered string         `json:"unanswered,omitempty"`
	// IfDrained says when it would be free if it were drained now; nil where nobody
	// knows what it runs.
	IfDrained *Drain `json:"if_drained,omitempty"`
}

// Shown reads a worker from the registry and asks its process. That it does not
// answer is worth showing, and no error: the open runs are asked what they have there.
func Shown(ctx context.Context, client *starter.Client, id string) (ShownWorker, error) {
	shown, err := asked(ctx, client.Workers(), id)
	if err != nil {
		return shown, err
	}
	if shown.Report == nil {
		shown.Items, err = client.Runs().Search(ctx, starter.ItemSearch{
			Runs: starter.RunFilter{Running: true, SubDAGs: true, Limit: maxSearched}, Worker: id, States: heldStates(), Limit: maxSearched,
		})
		if err != nil {
			shown.Unanswered = err.Error()
		}
	}
	shown.IfDrained = drainOf(ctx, client, shown)
	return shown, nil
}

// heldStates are those of an item that is on a worker, or waits for one that was lost.
func heldStates() []string { return []string{"assigned", "running", "recalling", "held"} }

// asked is what the registry and the worker's process say.
func asked(ctx context.Context, w starter.Workers, id string) (ShownWorker, error) {
	worker, err := w.Get(ctx, id)
	if err != nil {
		return ShownWorker{}, err
	}
	shown := ShownWorker{WorkerDetail: worker, Caps: worker.Registration.Caps()}
	if worker.State == contract.WorkerDeleted {
		shown.Silent = "the worker is DELETED"
		return shown, nil
	}
	if worker.Registration.Remote {
		shown.Silent = "it works through a gateway: its slots are in the list, its jobs in those of the runs"
		return shown, nil
	}
	report, err := w.Ask(ctx, id)
	switch silent, is := errors.AsType[*starter.SilentWorkerError](err); {
	case is:
		shown.Silent = silent.Error()
	case err != nil:
		return ShownWorker{}, err
	case report.Instance != worker.Registration.Instance:
		shown.Silent = fmt.Sprintf("another process answers for this id (instance %s), not the registered one", report.Instance)
	default:
		shown.Report = &report
	}
	return shown, nil
}
