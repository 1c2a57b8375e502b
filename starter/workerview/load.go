package workerview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// WorkerLoad is the number of slots in use, from the last heartbeat of the worker's process.
type WorkerLoad struct {
	Executing int       `json:"executing"`
	Detecting int       `json:"detecting"`
	At        time.Time `json:"at"`

	// Times of the last heartbeats of both queues. The next heartbeat may come through a gateway with another clock.
	detected, executed time.Time
}

// since reports whether all heartbeats of the load were sent after those of an earlier one.
func (l WorkerLoad) since(earlier WorkerLoad) bool {
	return !l.detected.Equal(earlier.detected) && !l.executed.Equal(earlier.executed)
}

// Loads reads the last heartbeats of these workers, as far as the server still has them. It needs no control plane.
func Loads(ctx context.Context, client *starter.Client, workers []contract.WorkerDetail) (map[string]WorkerLoad, error) {
	listed, err := beating(ctx, client)
	if err != nil {
		return nil, err
	}
	owner := make(map[string]string, len(workers))
	for _, worker := range workers {
		r := worker.Registration
		owner[fmt.Sprintf("%s@%s:%d", r.ID, r.Host, r.PID)] = r.ID
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		loads = map[string]WorkerLoad{}
		fault error
	)
	for describer := range describers {
		group.Go(func() {
			for i := describer; i < len(listed); i += describers {
				id := owner[listed[i].GetWorkerIdentity()]
				if id == "" || strings.HasSuffix(listed[i].GetTaskQueue(), contract.WorkerControlSuffix) {
					continue
				}
				beat, err := heartbeat(ctx, client, listed[i].GetWorkerInstanceKey())
				mu.Lock()
				if err != nil {
					fault = errors.Join(fault, err)
				} else if beat != nil {
					loads[id] = loads[id].add(beat)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return loads, fault
}

func (l WorkerLoad) add(beat *workerpb.WorkerHeartbeat) WorkerLoad {
	used, at := int(beat.GetActivityTaskSlotsInfo().GetCurrentUsedSlots()), beat.GetHeartbeatTime().AsTime()
	if _, _, detect, ok := contract.WorkerOfQueue(beat.GetTaskQueue()); ok && detect {
		l.Detecting, l.detected = l.Detecting+used, at
	} else {
		l.Executing, l.executed = l.Executing+used, at
	}
	if at.After(l.At) {
		l.At = at
	}
	return l
}

func beating(ctx context.Context, client *starter.Client) ([]*workerpb.WorkerListInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var all []*workerpb.WorkerListInfo
	request := &workflowservice.ListWorkersRequest{Namespace: client.Namespace(), PageSize: 1000, Query: "TaskQueue starts_with 'roundsman/'"}
	for {
		answer, err := client.Temporal().WorkflowService().ListWorkers(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the workers' heartbeats: %w", err)
		}
		all = append(all, rpc.WorkerEntries(answer)...)
		request.NextPageToken = answer.GetNextPageToken()
		if len(request.GetNextPageToken()) == 0 {
			return all, nil
		}
	}
}

func heartbeat(ctx context.Context, client *starter.Client, key string) (*workerpb.WorkerHeartbeat, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	answer, err := client.Temporal().WorkflowService().DescribeWorker(ctx, &workflowservice.DescribeWorkerRequest{Namespace: client.Namespace(), WorkerInstanceKey: key})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a worker's heartbeat: %w", err)
	}
	return answer.GetWorkerInfo().GetWorkerHeartbeat(), nil
}
