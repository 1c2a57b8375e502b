package explainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	// needRuns bounds the open runs that are queried, needHolds the holds.
	needRuns, needHolds = 200, 1000
	needsAtOnce         = 8
	kindPlane           = "control plane"
)

// NeedsPerson lists the states that wait for a person. Missing facts are the error; the list has the rest.
func NeedsPerson(ctx context.Context, client *starter.Client) ([]explain.Need, error) {
	now, down := time.Now(), explain.Facts{}
	var things []explain.Thing
	types, err := jobtypes.Of(client).List(ctx)
	faults := []error{err}
	note := func(err error) {
		if err != nil && !errors.Is(err, starter.ErrNotFound) && !noteDown(&down, err) {
			faults = append(faults, err)
		}
	}
	workers, err := client.Workers().List(ctx, contract.WorkersQueryInput{})
	note(err)
	if down.Down != "" {
		down.Now = now
		return explain.NeedsPerson([]explain.Thing{{Kind: kindPlane, Name: client.Namespace(), Facts: down}}), errors.Join(faults...)
	}
	held, err := client.Admission().Holds(ctx, contract.HoldsInput{Limit: needHolds})
	note(err)
	for _, known := range types {
		facts := explain.Facts{Now: now, Type: new(typeFacts(known)), Workers: workers}
		facts.Holds = slices.DeleteFunc(slices.Clone(held.Holds), func(h contract.AdmissionHold) bool { return h.JobType != known.Name })
		things = append(things, explain.Thing{Kind: KindJobType, Name: known.Name, JobType: known.Name, Facts: facts})
	}
	for _, worker := range workers {
		if worker.State != contract.WorkerDeleted {
			things = append(things, explain.Thing{Kind: KindWorker, Name: worker.Registration.ID, Facts: explain.Facts{Now: now, Worker: &explain.WorkerFacts{WorkerDetail: worker}}})
		}
	}
	view, err := client.Notifications().View(ctx)
	note(err)
	for _, receiver := range view.Receivers {
		found := receiverIn(view, receiver.Name)
		things = append(things, explain.Thing{Kind: KindReceiver, Name: receiver.Name, Facts: explain.Facts{Now: now, Receiver: &found}})
	}
	runs, err := client.Runs().List(ctx, starter.RunFilter{Running: true, SubDAGs: true, Limit: needRuns})
	note(err)
	if len(runs) == needRuns {
		faults = append(faults, fmt.Errorf("only the newest %d open runs were queried", needRuns))
	}
	if len(down.Stuck)+len(down.Frozen) > 0 {
		down.Now = now
		things = append(things, explain.Thing{Kind: kindPlane, Name: client.Namespace(), Facts: down})
	}
	return explain.NeedsPerson(append(things, openThings(ctx, client, now, runs)...)), errors.Join(faults...)
}

// A run without an answer, such as one that has just ended, is left out.
func openThings(ctx context.Context, client *starter.Client, now time.Time, runs []starter.Run) []explain.Thing {
	var things []explain.Thing
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(needsAtOnce)
	for _, run := range runs {
		asking.Go(func() error {
			one := &explainer{client: client, seen: map[string]bool{}}
			ref, facts := starter.RunRef{WorkflowID: run.WorkflowID}, explain.Facts{Now: now}
			thing := explain.Thing{Kind: kindRun, Name: run.WorkflowID, JobType: run.JobType, DAG: run.DAG}
			var err error
			if cmp.Or(run.Kind, ref.Kind()) == starter.KindDAG {
				thing.Kind = kindDAGRun
				err = one.ownWaits(ctx, ref, run, &facts)
			} else {
				facts.Run = &explain.RunFacts{}
				*facts.Run, err = one.runFacts(ctx, ref, &facts)
				facts.Inner = nil // Those runs are listed themselves.
			}
			if err != nil {
				client.Logger().Debug("query an open run", "run", run.WorkflowID, "error", err)
				return nil
			}
			thing.Facts = facts
			mu.Lock()
			defer mu.Unlock()
			things = append(things, thing)
			return nil
		})
	}
	_ = asking.Wait() // Faults are logged.
	return things
}

func (e *explainer) ownWaits(ctx context.Context, ref starter.RunRef, run starter.Run, facts *explain.Facts) error {
	facts.Run = &explain.RunFacts{ID: ref.WorkflowID, DAG: cmp.Or(run.DAG, ref.WorkflowID), Open: true, StartedAt: run.Started}
	answer, err := e.client.DAGs().Why(ctx, ref, "")
	if noteDown(facts, err) {
		return nil
	}
	facts.Run.Answer = &explain.RunAnswer{Phase: answer.State, Running: answer.Running + len(answer.SubDAGs), Waits: answer.Waits}
	return err
}
