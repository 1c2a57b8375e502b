package workerview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/reboot"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Reboot is the verdict whether the node of a worker may be rebooted.
type Reboot struct {
	reboot.Verdict
	// Text is the verdict in one line, for operators. Why is Text without its code.
	Text string `json:"text"`
	Why  string `json:"why"`
}

func textOf(id string, v reboot.Verdict) Reboot {
	said := explain.Reboot{Code: string(v.Code), Worker: id, Running: v.Running, Reported: v.Reported, Unsearched: v.Unsearched}
	said.Lost += lists.Count(v.Attempts, func(attempt reboot.NodeAttempt) bool { return attempt.Lost })
	for _, one := range v.Alone {
		said.Alone = append(said.Alone, one.Name)
	}
	said.Draining = v.Draining
	return Reboot{v, said.Text(), said.Why()}
}

// MayReboot reads the facts about the worker's node and returns the verdict.
func MayReboot(ctx context.Context, client *starter.Client, shown ShownWorker) (Reboot, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookWithin, errSlow)
	defer cancel()
	facts := reboot.Facts{Worker: shown.WorkerDetail, Unsearched: shown.Unanswered != ""}
	var asking errgroup.Group
	asking.Go(func() error {
		registry, err := client.Workers().Registry(ctx, contract.WorkersQueryInput{})
		facts.Fleet = registry.Workers
		return err
	})
	asking.Go(func() error {
		types, err := jobtypes.Of(client).List(ctx)
		for _, known := range types {
			one := reboot.Type{Name: known.Name, Handler: known.Spec.Handler, Labels: known.Spec.Labels, Idle: known.Paused}
			if len(known.Next) > 0 {
				one.Next = known.Next[0]
			}
			facts.Types = append(facts.Types, one)
		}
		return err
	})
	running := reboot.Facts{}
	asking.Go(func() error { return addRunning(ctx, client, shown, &running) })
	if err := asking.Wait(); err != nil {
		return Reboot{}, err
	}
	facts.Reported, facts.Running, facts.Attempts = running.Reported, running.Running, running.Attempts
	facts.Unsearched = facts.Unsearched || running.Unsearched
	return textOf(shown.Registration.ID, reboot.Decide(facts)), nil
}

// addRunning adds the attempts on the worker, and those that runs have lost there.
func addRunning(ctx context.Context, client *starter.Client, shown ShownWorker, facts *reboot.Facts) error {
	for _, item := range shown.Items {
		facts.Attempts = append(facts.Attempts, reboot.NodeAttempt{Run: item.Run.WorkflowID, Job: item.ID, StartedAt: item.StartedAt})
	}
	switch report := shown.Report; {
	case report != nil:
		facts.Reported, facts.Running = true, report.Detecting+report.Executing
		for _, job := range report.Jobs {
			facts.Attempts = append(facts.Attempts, reboot.NodeAttempt{Run: job.GroupID, Job: job.JobID, StartedAt: job.StartedAt})
		}
		return nil
	case shown.Registration.Remote && shown.Fresh:
		loads, err := Loads(ctx, client, []contract.WorkerDetail{shown.WorkerDetail})
		if err != nil {
			return err
		}
		load, known := loads[shown.Registration.ID]
		facts.Reported, facts.Running = known, load.Detecting+load.Executing
	}
	lost, err := lostThere(ctx, client, shown.Registration.ID)
	facts.Attempts, facts.Unsearched = withLost(facts.Attempts, lost), err != nil
	return nil
}

// withLost adds attempts that were searched later. A job that was lost meanwhile stays listed once.
func withLost(running, lost []reboot.NodeAttempt) []reboot.NodeAttempt {
	running = slices.DeleteFunc(running, func(one reboot.NodeAttempt) bool {
		return slices.ContainsFunc(lost, func(other reboot.NodeAttempt) bool { return one.Run == other.Run && one.Job == other.Job })
	})
	return append(running, lost...)
}

// lostThere returns attempts that open runs have abandoned on the worker; its process may still execute them. It
// reads the histories of at most mostAsked runs; more are an error.
func lostThere(ctx context.Context, client *starter.Client, id string) (lost []reboot.NodeAttempt, err error) {
	runs, err := client.Runs().List(ctx, starter.RunFilter{Running: true, SubDAGs: true, Limit: maxSearched})
	if err != nil {
		return nil, err
	}
	items, err := client.Runs().SearchAmong(ctx, runs, starter.ItemSearch{Limit: maxSearched})
	err = errors.Join(err, leftOut(len(runs), len(items)))
	recorded := suspects(items, id)
	if len(recorded) > mostAsked {
		recorded, err = recorded[:mostAsked], errors.Join(err, errManyRepeated)
	}
	for _, items := range recorded {
		histories, fault := client.Runs().Histories(ctx, items[0].Recorded(), items)
		err = errors.Join(err, fault)
		for _, item := range items {
			attempts := histories[item.ID].Attempts
			at := slices.IndexFunc(attempts, func(attempt starter.Attempt) bool {
				return attempt.Worker == id && attempt.EndedAs == string(contract.FailureWorkerLost)
			})
			if at >= 0 {
				lost = append(lost, reboot.NodeAttempt{Run: item.Run.WorkflowID, Job: item.ID, StartedAt: begun(attempts[at]), Lost: true})
			}
		}
	}
	return lost, err
}

// The error of an item does not distinguish a loss from a failure.
func suspects(items []starter.Item, id string) (recorded [][]starter.Item) {
	places := map[starter.RunRef]int{}
	for _, item := range items {
		there := item.Worker == id && slices.Contains(heldStates(), item.State)
		if there || !mayBeLost(item, id) {
			continue
		}
		place, known := places[item.Recorded()]
		if !known {
			place = len(recorded)
			places[item.Recorded()], recorded = place, append(recorded, nil)
		}
		recorded[place] = append(recorded[place], item)
	}
	return recorded
}

func mayBeLost(item starter.Item, id string) bool {
	if item.Attempt != 1 {
		return item.Attempt > 1
	}
	return item.State != contract.JobCompleted && (item.Worker == id || item.Worker == "")
}

func begun(attempt starter.Attempt) time.Time {
	if attempt.StartedAt.IsZero() {
		return attempt.SentAt
	}
	return attempt.StartedAt
}

var (
	errManyRepeated = errors.New("too many runs with repeated or failed items")
	errManyOpen     = fmt.Errorf("more than %d open runs or items", maxSearched)
)

func leftOut(runs, items int) error {
	if runs >= maxSearched || items >= maxSearched {
		return errManyOpen
	}
	return nil
}
