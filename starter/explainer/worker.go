package explainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Without a control plane worker queries the worker's process.
func (e *explainer) worker(ctx context.Context, id string, facts *explain.Facts) (bool, error) {
	detail, err := e.client.Workers().Get(ctx, id)
	switch {
	case errors.Is(err, starter.ErrNotFound):
		return false, nil
	case noteDown(facts, err):
		return e.workerItself(ctx, id, facts)
	case err != nil:
		return false, err
	}
	facts.Worker = &explain.WorkerFacts{WorkerDetail: detail}
	if detail.State == contract.WorkerDeleted || detail.State == contract.WorkerOffline {
		return true, nil
	}
	if err := e.report(ctx, facts.Worker); err != nil {
		return true, err
	}
	if r := facts.Worker.Report; r == nil || r.Executing+r.Detecting > 0 {
		return true, nil
	}
	types, err := jobtypes.Of(e.client).List(ctx)
	if err != nil {
		return true, err
	}
	for _, t := range types {
		facts.Worker.Types = append(facts.Worker.Types, typeFacts(t))
	}
	return true, nil
}

// A silent process is a fact, not an error.
func (e *explainer) report(ctx context.Context, w *explain.WorkerFacts) error {
	report, err := e.client.Workers().Ask(ctx, w.Registration.ID)
	silent, isSilent := errors.AsType[*starter.SilentWorkerError](err)
	switch {
	case isSilent:
		w.Silent = silent.Error()
	case err != nil:
		return err
	case report.Instance != w.Registration.Instance && w.Registration.Instance != "":
		w.Silent = fmt.Sprintf("another process answers for this id (instance %s), not the registered one", report.Instance)
	default:
		w.Report = &report
	}
	return nil
}

// An empty worker means the shared queue.
func (e *explainer) taker(ctx context.Context, worker string, sent time.Time, facts *explain.Facts) error {
	facts.Taker, facts.SentAt = &explain.WorkerFacts{}, sent
	facts.Taker.Registration.ID = worker
	if worker == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, takerTimeout)
	defer cancel()
	if err := e.report(limited, facts.Taker); err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

func (e *explainer) ask(ctx context.Context, workers []string, facts *explain.Facts) {
	const most = 5
	for _, id := range workers {
		if _, known := facts.Asked[id]; known || len(facts.Asked) >= most {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, takerTimeout)
		w := explain.WorkerFacts{WorkerDetail: contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: id}}}
		if err := e.report(limited, &w); err != nil {
			e.client.Logger().Debug("query a worker that is doubted", "worker", id, "error", err)
		}
		cancel()
		if facts.Asked == nil {
			facts.Asked = map[string]explain.WorkerFacts{}
		}
		facts.Asked[id] = w
	}
}

// A full worker answers faster than takerTimeout, so a slower one has other problems.
const takerTimeout = time.Second

func (e *explainer) workerItself(ctx context.Context, id string, facts *explain.Facts) (bool, error) {
	_, err := e.client.Temporal().DescribeWorkflowExecution(ctx, contract.WorkerWorkflowID(id), "")
	if err != nil {
		// It may be another thing; an unknown name is reported at the end.
		return false, nil //nolint:nilerr // see above
	}
	w := &explain.WorkerFacts{WorkerDetail: contract.WorkerDetail{
		Registration: contract.WorkerRegistration{ID: id}, State: "unknown", Fresh: true,
	}}
	facts.Worker = w
	return true, e.report(ctx, w)
}
