package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// With different versions a process may be unable to continue workflows of another.
func tellVersions(ctx context.Context, c *starter.Client, plane *Check) (polling []string) {
	queue, err := c.Temporal().DescribeTaskQueue(ctx, contract.ControlQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil // The versions are optional: the control plane answers.
	}
	now := time.Now()
	running, versions := controlPlanes(queue.GetPollers(), now)
	if len(running) == 0 {
		return nil
	}
	plane.Found += ": " + strings.Join(running, ", ")
	if versions > 1 {
		plane.Verdict = VerdictWarn
		plane.Help(hinted("several versions run side by side, as during an upgrade (a process that has ended is listed for a minute more): a workflow may " +
			"need one of them; leave one version running"))
	}
	for _, poller := range queue.GetPollers() {
		if now.Sub(poller.GetLastAccessTime().AsTime()) <= contract.PollPatience {
			polling = append(polling, poller.GetIdentity())
		}
	}
	return polling
}

func controlPlanes(pollers []*taskqueuepb.PollerInfo, now time.Time) (running []string, versions int) {
	var known []string
	for _, poller := range pollers {
		if now.Sub(poller.GetLastAccessTime().AsTime()) > contract.PollPatience {
			continue
		}
		buildID := poller.GetWorkerVersionCapabilities().GetBuildId() //nolint:staticcheck // see workers.ControlOptions.Version
		version := cmp.Or(starter.VersionOf(buildID), "an unknown version")
		running = append(running, fmt.Sprintf("%s (%s)", poller.GetIdentity(), version))
		if !slices.Contains(known, buildID) {
			known = append(known, buildID)
		}
	}
	slices.Sort(running)
	return slices.Compact(running), len(known)
}
