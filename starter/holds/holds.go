// Package holds lists everything that keeps work from starting until a person lifts it.
package holds

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
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Kind is a kind of hold, as `resume --kind` names it.
type Kind string

// The kinds of holds.
const (
	Pause   Kind = "pause"
	Budget  Kind = "budget"
	Done    Kind = "done"
	Failure Kind = "failure"
)

const (
	mostHolds, mostRuns = 10_000, 200
	// runsAtOnce bounds the queries at the same time.
	runsAtOnce = 8
)

// Hold is one hold on one thing.
type Hold struct {
	Kind Kind `json:"kind"`
	// Ref is the reference that resume takes.
	Ref       string    `json:"ref"`
	JobType   string    `json:"job_type,omitempty"`
	DedupeKey string    `json:"dedupe_key,omitempty"`
	By        string    `json:"by,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	// Until is zero for a hold that only a person lifts.
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why,omitempty"`
	// Code and LastError are those of a budget or a mark.
	Code      string `json:"code,omitempty"`
	LastError string `json:"last_error,omitempty"`
	// Resume lifts the hold.
	Resume action.Action `json:"resume"`
}

// List returns all holds, or those of one job type. Missing facts are the error; the list has the rest.
func List(ctx context.Context, client *starter.Client, jobType string) ([]Hold, error) {
	var asking sync.WaitGroup
	parts, faults := make([][]Hold, 4), make([]error, 4)
	for i, part := range []func(context.Context, *starter.Client, string) ([]Hold, error){types, admission, workers, runs} {
		asking.Go(func() { parts[i], faults[i] = part(ctx, client, jobType) })
	}
	asking.Wait()
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b Hold) int { return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Ref, b.Ref)) })
	return all, errors.Join(faults...)
}

func types(ctx context.Context, client *starter.Client, jobType string) ([]Hold, error) {
	known, err := jobtypes.Of(client).List(ctx)
	var all []Hold
	for _, t := range known {
		if t.Paused && !t.DisabledByConfig && (jobType == "" || t.Name == jobType) {
			all = append(all, Hold{
				Kind: Pause, Ref: t.Name, JobType: t.Name, By: t.PausedBy, Since: t.PausedAt, Why: t.PauseNote,
				Resume: action.New(action.ResumeJobType, action.Args{"name": t.Name}),
			})
		}
	}
	return all, err
}

func admission(ctx context.Context, client *starter.Client, jobType string) ([]Hold, error) {
	held, err := client.Admission().Holds(ctx, contract.HoldsInput{JobType: jobType, Limit: mostHolds})
	if errors.Is(err, starter.ErrNotFound) {
		return nil, nil
	}
	if held.Total > len(held.Holds) {
		err = fmt.Errorf("only the first %d of %d budgets and marks are listed", len(held.Holds), held.Total)
	}
	var all []Hold
	for _, h := range held.Holds {
		one := Hold{
			Kind: Budget, Ref: h.JobType, JobType: h.JobType, DedupeKey: h.DedupeKey, By: h.By, Since: h.Since, Until: h.Until, Why: h.LastError, Code: h.Code, LastError: h.LastError,
			Resume: action.New(action.ReEnableJobType, action.Args{"name": h.JobType, "key": h.DedupeKey}),
		}
		if h.DedupeKey != "" {
			one.Ref += ":" + h.DedupeKey
		}
		if h.Code == contract.HoldMarkedDone {
			one.Kind, one.Resume = Done, action.New(action.ForgiveKey, action.Args{"name": h.JobType, "key": h.DedupeKey})
		}
		all = append(all, one)
	}
	return all, err
}

// workers lists the paused workers, also while they are away.
func workers(ctx context.Context, client *starter.Client, jobType string) ([]Hold, error) {
	if jobType != "" {
		return nil, nil
	}
	known, err := client.Workers().List(ctx, contract.WorkersQueryInput{})
	var all []Hold
	for _, w := range known {
		if w.Mode == "" {
			continue
		}
		id := w.Registration.ID
		all = append(all, Hold{
			Kind: Pause, Ref: string(ref.Worker) + "/" + id, By: w.Kept.By, Since: w.Kept.At, Why: w.Kept.Reason,
			Resume: action.New(action.UncordonWorker, action.Args{"id": id}),
		})
	}
	return all, err
}

func runs(ctx context.Context, client *starter.Client, jobType string) ([]Hold, error) {
	listed, err := client.Runs().List(ctx, starter.RunFilter{Running: true, JobType: jobType, Limit: mostRuns + 1})
	if len(listed) > mostRuns {
		listed, err = listed[:mostRuns], fmt.Errorf("only the newest %d open runs were queried", mostRuns)
	}
	nested, fault := nestedRuns(ctx, client, jobType)
	listed, err = append(listed, nested...), errors.Join(err, fault)
	all, faults := make([][]Hold, len(listed)), make([]error, len(listed))
	var asking errgroup.Group
	asking.SetLimit(runsAtOnce)
	for i, run := range listed {
		asking.Go(func() error {
			shown, err := client.Runs().Show(ctx, run.RunRef)
			if err == nil && shown.Phase == "" {
				err = shown.Silence()
			}
			if !errors.Is(err, starter.ErrNotFound) {
				all[i], faults[i] = ofRun(shown), err
			}
			return nil
		})
	}
	_ = asking.Wait() // Faults are kept.
	faults = slices.DeleteFunc(faults, func(fault error) bool { return fault == nil })
	if len(faults) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d open runs did not answer: %w", len(faults), len(listed), faults[0]))
	}
	return slices.Concat(all...), err
}

// nestedRuns lists the open runs of sub-DAGs and of jobs that are DAGs: each has a pause of its own. One job group may have
// hundreds, which must not take the places of other runs.
func nestedRuns(ctx context.Context, client *starter.Client, jobType string) ([]starter.Run, error) {
	const most = 2*mostRuns + 1
	listed, err := client.Runs().List(ctx, starter.RunFilter{Running: true, JobType: jobType, Kind: starter.KindDAG, SubDAGs: true, Limit: most})
	all := len(listed) < most
	listed = slices.DeleteFunc(listed, starter.Run.Standalone)
	if len(listed) > mostRuns || !all {
		listed = listed[:min(len(listed), mostRuns)]
		err = fmt.Errorf("only the newest %d open sub-DAGs were queried", len(listed))
	}
	return listed, err
}

func ofRun(shown starter.Snapshot) []Hold {
	var all []Hold
	one := Hold{Ref: ref.OfRun(shown.Run.WorkflowID), JobType: shown.Run.JobType}
	if _, _, ofDAG := contract.DAGOfWorkflow(shown.Run.WorkflowID); !ofDAG {
		one.JobType = cmp.Or(one.JobType, starter.NameOfRun(shown.Run.WorkflowID))
	}
	if shown.Paused {
		paused := one
		paused.Kind, paused.By, paused.Why = Pause, shown.PausedBy, shown.PauseNote
		paused.Resume = action.New(action.ResumeRun, action.Args{"run": shown.Run.WorkflowID})
		all = append(all, paused)
	}
	if shown.Phase == contract.PhaseHeld {
		one.Kind, one.Why, one.Since = Failure, "kept open after a failure", shown.ModifiedAt
		if shown.DAGStatus != nil {
			one.Until = shown.DAGStatus.HeldUntil
		}
		one.Resume = action.New(action.ReleaseRun, action.Args{"run": shown.Run.WorkflowID})
		all = append(all, one)
	}
	return all
}
