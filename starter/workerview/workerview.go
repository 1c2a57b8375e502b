// Package workerview combines the registry's data about workers with the reports of their processes.
package workerview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

// IsOnline reports whether a worker counts as online: its state is ONLINE and its heartbeat is fresh.
func IsOnline(worker contract.WorkerDetail) bool {
	return worker.State == contract.WorkerOnline && worker.Fresh
}

// Online counts the workers that are online.
func Online(workers []contract.WorkerDetail) int { return lists.Count(workers, IsOnline) }

// ListedWorker is a worker with its load, if known.
type ListedWorker struct {
	contract.WorkerDetail
	Caps contract.WorkerCaps `json:"caps"`
	Load *WorkerLoad         `json:"load,omitempty"`
}

// ListedWorkers adds caps and loads from [Loads] to workers.
func ListedWorkers(workers []contract.WorkerDetail, loads map[string]WorkerLoad) []ListedWorker {
	listed := make([]ListedWorker, len(workers))
	for i, worker := range workers {
		listed[i] = ListedWorker{WorkerDetail: worker, Caps: worker.Registration.Caps()}
		if load, known := loads[worker.Registration.ID]; known && worker.Fresh {
			listed[i].Load = &load
		}
	}
	return listed
}

// ShownWorker is the data of the registry and of the worker's process.
type ShownWorker struct {
	contract.WorkerDetail
	Caps contract.WorkerCaps `json:"caps"`
	// Report comes from the process; Silent is the reason why it is missing.
	Report *contract.WorkerReport `json:"report,omitempty"`
	Silent string                 `json:"silent,omitempty"`
	// Items in open runs, if Report is missing, and the runs that did not answer.
	Items      []starter.Item `json:"items,omitempty"`
	Unanswered string         `json:"unanswered,omitempty"`
	// IfDrained estimates when the worker is free if drained now; nil if its attempts are unknown.
	IfDrained *Drain `json:"if_drained,omitempty"`
}

// A slow server may delay each request by its full timeout.
const lookWithin = 10 * time.Second

var errSlow = fmt.Errorf("the server did not answer all requests within %s", lookWithin)

// Shown reads a worker from the registry and queries its process, else the open runs.
func Shown(ctx context.Context, client *starter.Client, id string) (ShownWorker, error) {
	shown, err := asked(ctx, client.Workers(), id)
	if err != nil {
		return shown, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lookWithin, errSlow)
	defer cancel()
	if shown.Report == nil {
		shown.Items, err = itemsOn(ctx, client, id)
		if err != nil {
			shown.Unanswered = err.Error()
		}
	}
	shown.IfDrained = drainOf(ctx, client, shown)
	return shown, nil
}

func heldStates() []string { return []string{"assigned", "running", "recalling", "held"} }

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
