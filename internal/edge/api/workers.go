package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// WorkerPath names a worker in the path.
type WorkerPath struct {
	ID string `path:"id" maxLength:"63" doc:"The worker"`
}

type workerList struct {
	Workers []workerview.ListedWorker `json:"workers"`
	// Incomplete means that the registry is new and living workers may be missing.
	Incomplete bool `json:"incomplete"`
	Online     int  `json:"online" doc:"Workers of all pages that are ONLINE with a fresh heartbeat"`
	Page
}

var (
	viewWorkers    = access.Permission{Verb: access.View, Kind: access.Workers}    //nolint:gochecknoglobals // constants
	operateWorkers = access.Permission{Verb: access.Operate, Kind: access.Workers} //nolint:gochecknoglobals // constants
)

func (a *API) workers() {
	const tag, one = "workers", "/workers/{id}"
	Add(a, Operation{
		ID: "list-workers", Method: http.MethodGet, Path: "/workers", Tag: tag, Summary: "List workers, their state and slots",
		May: viewWorkers,
	}, a.listWorkers)
	Add(a, Operation{
		ID: "get-worker", Method: http.MethodGet, Path: one, Tag: tag, Summary: "Show a worker with its capabilities, jobs and history",
		May:  viewWorkers,
		Live: &feed.Topic{Every: queriedEvery, Busy: busyEvery, Of: []string{contract.FleetWorkflowID}},
	}, func(ctx context.Context, call *Call, in *WorkerPath) (workerview.ShownWorker, error) {
		return workerview.Shown(ctx, call.Client, in.ID)
	})
	Add(a, Operation{
		ID: "may-reboot-worker", Method: http.MethodGet, Path: one + "/reboot", Tag: tag, Summary: "Check whether the worker's node may be rebooted",
		Description: "Codes: FREE, DRAIN_FIRST (jobs run there), DRAINING (the same, without new work), WORK_WAITS (a job type has no other worker) or NOT_KNOWN (no fresh report of its jobs).",
		May:         viewWorkers,
		// A job that begins is no change of the fleet.
		Live: &feed.Topic{Every: busyEvery, Of: []string{contract.FleetWorkflowID}},
	}, func(ctx context.Context, call *Call, in *WorkerPath) (workerview.Reboot, error) {
		shown, err := workerview.Shown(ctx, call.Client, in.ID)
		if err != nil {
			return workerview.Reboot{}, err
		}
		return workerview.MayReboot(ctx, call.Client, shown)
	})
	Add(a, Operation{
		ID: "get-worker-usage", Method: http.MethodGet, Path: one + "/usage", Tag: tag, Summary: "Get the use of a worker's slots in the last twelve hours",
		Description: "Its process records the use since its start. A remote worker, or a process that does not answer, has no spans.",
		May:         viewWorkers,
		Live:        &feed.Topic{Every: seldomEvery},
	}, workerUsage)
	Add(a, Operation{
		ID: "drain-worker", Method: http.MethodPost, Path: one + "/drain", Tag: tag, Summary: "Take no new work; the process is meant to end",
		Description: "Who waits gets 200 when nothing runs on it any more, or it is OFFLINE.",
		May:         operateWorkers, Status: http.StatusAccepted,
	}, func(ctx context.Context, call *Call, in *workerReason) (WorkerDraining, error) {
		after, err := operateWorker(starter.ActionDrain)(ctx, call, in)
		return WorkerDraining{after}, err
	})
	a.workerActions(tag, one)
}

func (a *API) workerActions(tag, one string) {
	for action, summary := range map[starter.WorkerAction]string{
		starter.ActionCordon:   "Take no new work; running jobs may finish",
		starter.ActionUncordon: "Take work again after drain or cordon",
		starter.ActionRemove:   "Take a worker out of the registry; a living one registers again",
	} {
		Add(a, Operation{
			ID: string(action) + "-worker", Method: http.MethodPost, Path: one + "/" + string(action), Tag: tag, Summary: summary,
			May: operateWorkers,
		}, operateWorker(action))
	}
	Add(a, Operation{
		ID: "resize-worker", Method: http.MethodPost, Path: one + "/resize", Tag: tag, Summary: "Change how much a worker runs at once, without a restart",
		May: operateWorkers,
	}, resizeWorker)
	Add(a, Operation{
		ID: "clean-up-workers", Method: http.MethodPost, Path: "/workers/cleanup", Tag: tag, Summary: "Remove workers that have been OFFLINE for long from the registry",
		May: operateWorkers,
	}, func(ctx context.Context, call *Call, in *struct {
		DryRun
		Body struct {
			AllOffline bool `json:"all_offline,omitempty" doc:"Every worker that is OFFLINE, however short"`
		}
	},
	) (starter.RemovedWorkers, error) {
		return CleanUp(ctx, call, in.Body.AllOffline, in.Wanted)
	})
}

// DryRun is the parameter of operations with a dry run.
type DryRun struct {
	Wanted bool `query:"dry_run" doc:"Preview only"`
}

// CleanUp removes OFFLINE workers, or lists them in a dry run.
func CleanUp(ctx context.Context, call *Call, all, dryRun bool) (starter.RemovedWorkers, error) {
	if dryRun {
		return call.Client.Workers().PreviewCleanup(ctx, all)
	}
	return call.Client.Workers().Cleanup(ctx, all, call.Name)
}

type workersInput struct {
	Online  bool `query:"online" doc:"Only workers that are ONLINE"`
	Deleted bool `query:"deleted" doc:"Also deleted ones"`
	// FindDeleted is the name used by other worker managers.
	FindDeleted bool `query:"findDeleted" doc:"The same as deleted"`
	Loads       bool `query:"loads" default:"true" doc:"With the slots in use: two calls to the server for each worker of the page"`
	Listing
}

func (a *API) listWorkers(ctx context.Context, call *Call, in *workersInput) (workerList, error) {
	registry, err := call.Client.Workers().Registry(ctx, contract.WorkersQueryInput{Online: in.Online, Deleted: in.Deleted || in.FindDeleted})
	if err != nil {
		return workerList{}, err
	}
	id := func(w contract.WorkerDetail) string { return w.Registration.ID }
	slices.SortFunc(registry.Workers, func(a, b contract.WorkerDetail) int { return cmp.Compare(id(a), id(b)) })
	kept, page, err := Cut(call, "workers", in.Listing, registry.Workers, id)
	if err != nil {
		return workerList{}, err
	}
	loads := map[string]workerview.WorkerLoad{}
	if in.Loads {
		if loads, err = workerview.Loads(ctx, call.Client, kept); err != nil {
			call.Logf("slots in use are not known: %v", err)
		}
	}
	return workerList{workerview.ListedWorkers(kept, loads), registry.Incomplete, workerview.Online(registry.Workers), page}, nil
}

type workerReason struct {
	WorkerPath
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Kept in the worker's history"`
	}
}

func operateWorker(action starter.WorkerAction) func(context.Context, *Call, *workerReason) (contract.WorkerDetail, error) {
	return func(ctx context.Context, call *Call, in *workerReason) (contract.WorkerDetail, error) {
		after, err := call.Client.Workers().Operate(ctx, in.ID, action, call.Name, in.Body.Reason)
		err = orUnknown(ctx, call, in.ID, err)
		if err == nil && action != starter.ActionRemove {
			// A worker that does not answer now learns of it within a minute.
			_, _ = call.Client.Workers().Refresh(ctx, in.ID)
		}
		return after, err
	}
}

func workerUsage(ctx context.Context, call *Call, in *WorkerPath) (contract.WorkerUsage, error) {
	usage := contract.WorkerUsage{ID: in.ID, At: time.Now().UTC(), Spans: []contract.WorkerUsageSpan{}}
	if _, err := call.Client.Workers().Get(ctx, in.ID); err != nil {
		return usage, err
	}
	told, err := call.Client.Workers().Usage(ctx, in.ID)
	if _, silent := errors.AsType[*starter.SilentWorkerError](err); silent {
		return usage, nil
	}
	return told, err
}

func resizeWorker(ctx context.Context, call *Call, in *struct {
	WorkerPath
	Body struct {
		MaxDetect  int    `json:"max_detect,omitempty" minimum:"0" doc:"0: as it is"`
		MaxExecute int    `json:"max_execute,omitempty" minimum:"0" doc:"0: as it is"`
		Reset      bool   `json:"reset,omitempty" doc:"Restore the worker's own capacity"`
		Reason     string `json:"reason,omitempty" maxLength:"1000"`
	}
},
) (contract.WorkerDetail, error) {
	if in.Body.Reset == (in.Body.MaxDetect+in.Body.MaxExecute > 0) {
		return contract.WorkerDetail{}, problem.New(http.StatusUnprocessableEntity, "", "give max_detect, max_execute or both, or else reset")
	}
	after, err := call.Client.Workers().Resize(ctx, contract.ResizeWorkerInput{
		ID: in.ID, MaxDetect: in.Body.MaxDetect, MaxExecute: in.Body.MaxExecute, Reset: in.Body.Reset, By: call.Name, Reason: in.Body.Reason,
	})
	return after, orUnknown(ctx, call, in.ID, err)
}

func orUnknown(ctx context.Context, call *Call, id string, err error) error {
	if _, refused := errors.AsType[*starter.RefusedError](err); !refused {
		return err
	}
	if _, missing := call.Client.Workers().Get(ctx, id); errors.Is(missing, starter.ErrNotFound) {
		return missing
	}
	return err
}
