package workerview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// DrainState is how far the drain of a worker is.
type DrainState struct {
	// Over: nothing runs there, and nothing more will.
	Over bool
	// Text says what runs, or why it is over.
	Text string
}

// UncordonedError says that a worker which was to be drained may get jobs again.
type UncordonedError struct{ ID string }

// Error implements error.
func (e *UncordonedError) Error() string {
	return fmt.Sprintf("%s is ONLINE again and may get jobs: somebody uncordoned it while it was drained (see `roundsman workers show %s`)", e.ID, e.ID)
}

// Drained looks once at a worker that drains since then. A node worker's process tells
// what runs; one that does not answer is waited for as long as the registry believes
// that it lives. Of a remote worker its next heartbeat tells it.
func Drained(ctx context.Context, client *starter.Client, id string, since time.Time) (DrainState, error) {
	worker, err := client.Workers().Get(ctx, id)
	switch {
	case err != nil:
		return DrainState{}, err
	case worker.State == contract.WorkerDeleted, worker.State == contract.WorkerOffline && !worker.Leaving:
		return DrainState{true, "it is " + string(worker.State)}, nil
	case worker.State == contract.WorkerOnline:
		return DrainState{}, &UncordonedError{id}
	case worker.Registration.Remote:
		return drainedRemote(ctx, client, worker, since)
	}
	report, err := client.Workers().Refresh(ctx, id)
	if _, silent := errors.AsType[*starter.SilentWorkerError](err); silent {
		return DrainState{Text: "its process does not answer; waiting until it does, or is OFFLINE"}, nil
	}
	switch {
	case err != nil:
		return DrainState{}, err
	case report.Detecting+report.Executing > 0:
		return DrainState{Text: stillRunning(report.Detecting+report.Executing) + oldest(report)}, nil
	case !report.Held:
		// Until its process knows, it takes what a group sends that does not.
		return DrainState{Text: "nothing runs there; its process has not heard of the drain yet"}, nil
	}
	return DrainState{true, "nothing runs there"}, nil
}

func drainedRemote(ctx context.Context, client *starter.Client, worker contract.WorkerDetail, since time.Time) (DrainState, error) {
	loads, err := client.Workers().Loads(ctx, []contract.WorkerDetail{worker})
	load, known := loads[worker.Registration.ID]
	switch running := load.Detecting + load.Executing; {
	case err != nil:
		return DrainState{}, err
	case !known || !load.At.After(since):
		return DrainState{Text: "it works through a gateway; waiting for its next heartbeat"}, nil
	case running > 0:
		return DrainState{Text: stillRunning(running)}, nil
	}
	return DrainState{true, "nothing runs there"}, nil
}

func stillRunning(n int) string {
	if n == 1 {
		return "1 job still running"
	}
	return fmt.Sprintf("%d jobs still running", n)
}

func oldest(report contract.WorkerReport) string {
	if len(report.Jobs) == 0 {
		return ""
	}
	first := report.Jobs[0]
	text := fmt.Sprintf(", the oldest is %s of %s", first.JobID, first.GroupID)
	if first.Percent >= 0 {
		text += fmt.Sprintf(" at %.0f%%", first.Percent)
	}
	return text
}
