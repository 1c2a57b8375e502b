package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// pageSize keeps one answer of the list below half a megabyte.
	pageSize   = 1000
	describers = 8
	// queuePrefix is the prefix of the private queues of all workers.
	queuePrefix = "roundsman/worker/"
)

// list returns the workers in the tracker's window, and the others with their heartbeat's time.
func (o *Observer) list(ctx context.Context, track *tracker, now time.Time) ([]sighting, error) {
	from, to := track.window(now)
	near, err := o.pages(ctx, fmt.Sprintf("TaskQueue starts_with '%s' AND HeartbeatTime >= '%s' AND HeartbeatTime <= '%s'", queuePrefix, stamp(from), stamp(to)))
	if err != nil {
		return nil, err
	}
	far, err := o.pages(ctx, fmt.Sprintf("TaskQueue starts_with '%s' AND (HeartbeatTime < '%s' OR HeartbeatTime > '%s')", queuePrefix, stamp(from), stamp(to)))
	if err != nil {
		return nil, err
	}
	found := merge(near, far)
	return o.describe(ctx, found, track.choose(found))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (o *Observer) pages(ctx context.Context, query string) ([]*workerpb.WorkerListInfo, error) {
	var all []*workerpb.WorkerListInfo
	request := &workflowservice.ListWorkersRequest{Namespace: o.namespace, PageSize: pageSize, Query: query}
	for {
		answer, err := o.page(ctx, request)
		if err != nil {
			return nil, err
		}
		all = append(all, rpc.WorkerEntries(answer)...)
		request.NextPageToken = answer.GetNextPageToken()
		if len(request.GetNextPageToken()) == 0 {
			return all, nil
		}
	}
}

func (o *Observer) page(ctx context.Context, request *workflowservice.ListWorkersRequest) (*workflowservice.ListWorkersResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return o.service.ListWorkers(ctx, request)
}

// merge sorts by the owners of the queues. An entry that beat between the two requests may be in both lists: it is near.
func merge(near, far []*workerpb.WorkerListInfo) []sighting {
	var found []sighting
	known := make(map[string]bool, len(near))
	add := func(list []*workerpb.WorkerListInfo, isNear bool) {
		for _, w := range list {
			id, inst, _, ok := contract.WorkerOfQueue(w.GetTaskQueue())
			if !ok || known[w.GetWorkerInstanceKey()] {
				continue
			}
			known[w.GetWorkerInstanceKey()] = true
			found = append(found, sighting{
				key: w.GetWorkerInstanceKey(), owner: contract.Incarnation{ID: id, Instance: inst}, near: isNear,
				shutting: w.GetStatus() == enums.WORKER_STATUS_SHUTTING_DOWN,
			})
		}
	}
	add(near, true)
	add(far, false)
	slices.SortFunc(found, func(a, b sighting) int {
		if c := compareIncarnations(a.owner, b.owner); c != 0 {
			return c
		}
		return compareKeys(a.key, b.key)
	})
	return found
}

func compareKeys(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (o *Observer) describe(ctx context.Context, found []sighting, chosen []int) ([]sighting, error) {
	beats := make([]time.Time, len(chosen))
	faults := make([]error, len(chosen))
	var group sync.WaitGroup
	for worker := range min(describers, len(chosen)) {
		group.Go(func() {
			for i := worker; i < len(chosen); i += describers {
				beats[i], faults[i] = o.beat(ctx, found[chosen[i]].key)
			}
		})
	}
	group.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	gone := map[int]bool{}
	for i, at := range beats {
		found[chosen[i]].beat = at
		gone[chosen[i]] = at.IsZero()
	}
	kept := found[:0]
	for i, s := range found {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

func (o *Observer) beat(ctx context.Context, key string) (time.Time, error) {
	found, err := o.heartbeat(ctx, key)
	if err != nil || found.GetHeartbeatTime() == nil {
		return time.Time{}, err
	}
	return found.GetHeartbeatTime().AsTime(), nil
}

func (o *Observer) heartbeat(ctx context.Context, key string) (*workerpb.WorkerHeartbeat, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := o.service.DescribeWorker(ctx, &workflowservice.DescribeWorkerRequest{Namespace: o.namespace, WorkerInstanceKey: key})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return answer.GetWorkerInfo().GetWorkerHeartbeat(), nil
}
