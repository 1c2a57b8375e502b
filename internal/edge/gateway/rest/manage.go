package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
)

// OnlineWorkers are the workers that are ONLINE.
type OnlineWorkers struct {
	Workers []contract.WorkerDetail `json:"workers"`
	api.Page
}

func online(ctx context.Context, call *api.Call, in *struct{ api.Listing }) (OnlineWorkers, error) {
	found, err := call.Client.Workers().List(ctx, contract.WorkersQueryInput{Online: true})
	if err != nil {
		return OnlineWorkers{}, err
	}
	kept, page, err := api.Cut(call, "workers online", in.Listing, found, func(w contract.WorkerDetail) string { return w.Registration.ID })
	return OnlineWorkers{kept, page}, err
}

// FunctionBlocks are a worker's handlers.
type FunctionBlocks struct {
	FunctionBlocks []contract.Capability `json:"function_blocks"`
}

func functionBlocks(ctx context.Context, call *api.Call, in *api.WorkerPath) (FunctionBlocks, error) {
	found, err := call.Client.Workers().Get(ctx, in.ID)
	return FunctionBlocks{append([]contract.Capability{}, found.Registration.Capabilities...)}, err
}

type jobsInput struct {
	api.WorkerPath
	Status string `query:"status" doc:"Only jobs in this state; polled: all that the worker has taken"`
}

// WorkerJobs lists the jobs on a worker.
type WorkerJobs struct {
	Jobs []contract.WorkerJob `json:"jobs"`
}

const statusPolled = "polled"

func workerJobs(ctx context.Context, call *api.Call, in *jobsInput) (WorkerJobs, error) {
	found, err := workerview.Jobs(ctx, call.Client, in.ID)
	kept := WorkerJobs{Jobs: []contract.WorkerJob{}}
	for _, job := range found {
		wanted := in.Status == "" || in.Status == statusPolled || strings.EqualFold(in.Status, string(job.State))
		if wanted && call.Sees(access.Scope{JobType: job.JobType}) {
			kept.Jobs = append(kept.Jobs, job)
		}
	}
	return kept, err
}

func remove(ctx context.Context, call *api.Call, in *api.WorkerPath) (contract.WorkerDetail, error) {
	return call.Client.Workers().Operate(ctx, in.ID, starter.ActionRemove, call.Name, "")
}

func cleanUpOffline(ctx context.Context, call *api.Call, in *struct{ api.DryRun }) (starter.RemovedWorkers, error) {
	return api.CleanUp(ctx, call, true, in.Wanted)
}

// Management adds the operations of other worker managers that the API lacks.
func Management(a *api.API) {
	const tag, one = "workers", "/workers/{id}"
	view, operate := access.Permission{Verb: access.View, Kind: access.Workers}, access.Permission{Verb: access.Operate, Kind: access.Workers}
	api.Add(a, api.Operation{ID: "list-online-workers", Method: http.MethodGet, Path: "/workers/online", Tag: tag, Summary: "List the ONLINE workers", May: view}, online)
	api.Add(a, api.Operation{ID: "list-function-blocks", Method: http.MethodGet, Path: one + "/function-blocks", Tag: tag, Summary: "List a worker's handlers with their schemas", May: view}, functionBlocks)
	api.Add(a, api.Operation{ID: "list-worker-jobs", Method: http.MethodGet, Path: one + "/jobs", Tag: tag, Summary: "List what a worker runs", May: view, Reach: api.Some}, workerJobs)
	api.Add(a, api.Operation{ID: "delete-worker", Method: http.MethodDelete, Path: one, Tag: tag, Summary: "Remove a worker from the registry; a living one registers again", May: operate}, remove)
	api.Add(a, api.Operation{ID: "clean-up-offline-workers", Method: http.MethodPost, Path: "/workers/cleanup-offline", Tag: tag, Summary: "Remove all OFFLINE workers", May: operate}, cleanUpOffline)
}

// Workers serves the paths of other worker managers with the operations below prefix.
func Workers(prefix string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/workers" && !strings.HasPrefix(r.URL.Path, "/workers/") {
			next.ServeHTTP(w, r)
			return
		}
		moved := r.Clone(r.Context())
		moved.URL.Path, moved.URL.RawPath = prefix+r.URL.Path, ""
		next.ServeHTTP(w, moved)
	})
}
