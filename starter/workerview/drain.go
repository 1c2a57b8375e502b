package workerview

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// DrainState is the progress of a worker's drain.
type DrainState struct {
	// Over means that no attempt runs there and none will start.
	Over bool
	// Text lists the running attempts, or the reason why the drain is over.
	Text string
}

// UncordonedError reports that a draining worker may get jobs again.
type UncordonedError struct{ ID string }

// Error implements error.
func (e *UncordonedError) Error() string {
	return fmt.Sprintf("%s is ONLINE again and may get jobs: somebody uncordoned it while it was drained (see `roundsman show %s`)", e.ID, e.ID)
}

// Draining watches a worker that drains already.
type Draining struct {
	client *starter.Client
	id     string
	// Heartbeat of a remote worker at the first look; nil before it.
	first *WorkerLoad
}

// WatchDrain returns the watch of a worker's drain.
func WatchDrain(client *starter.Client, id string) *Draining {
	return &Draining{client: client, id: id}
}

// Look checks the worker once. Without its report, the drain continues while the registry considers the worker alive. A
// remote worker needs another heartbeat than that of the first look: no time of a heartbeat is compared with another clock.
func (d *Draining) Look(ctx context.Context) (DrainState, error) {
	client, id := d.client, d.id
	worker, err := client.Workers().Get(ctx, id)
	switch {
	case err != nil:
		return DrainState{}, err
	case worker.State == contract.WorkerDeleted, worker.State == contract.WorkerOffline && !worker.Leaving:
		return DrainState{true, "it is " + string(worker.State)}, nil
	case worker.State == contract.WorkerOnline:
		return DrainState{}, &UncordonedError{id}
	case worker.Registration.Remote:
		return d.lookRemote(ctx, worker)
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
		// Until its process has the drain, it accepts jobs from groups that lack it too.
		return DrainState{Text: "nothing runs there; its process has not heard of the drain yet"}, nil
	}
	return DrainState{true, "nothing runs there"}, nil
}

func (d *Draining) lookRemote(ctx context.Context, worker contract.WorkerDetail) (DrainState, error) {
	loads, err := Loads(ctx, d.client, []contract.WorkerDetail{worker})
	if err != nil {
		return DrainState{}, err
	}
	load, known := loads[worker.Registration.ID]
	if d.first == nil {
		d.first = &load
	}
	switch running := load.Detecting + load.Executing; {
	case !known || !load.since(*d.first):
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
