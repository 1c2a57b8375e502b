package console

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/calendar"
	"github.com/roundsman/roundsman/starter/times"
)

const (
	// timesGap is the minimum time between fetches of the times of a run: those of 10,000 jobs have 400 kB.
	timesGap = 5 * time.Second
	// stripsGap is the same for the last runs of job types and DAGs, which need lists of up to 1,000 runs.
	stripsGap  = 30 * time.Second
	timesEvery = 30 * time.Second
	// nightSteady is the precision of the ends of a night, so that its ETag and its picture stay the same.
	nightSteady = 15 * time.Minute
)

// RunStrips has the last runs of job types and DAGs.
type RunStrips struct {
	Strips []times.RunStrip `json:"strips"`
	DAGs   []times.DAGStrip `json:"dags"`
	AsOf   time.Time        `json:"as_of"`
}

type stripsInput struct {
	JobType []string `query:"job_type" maxItems:"100" doc:"These job types"`
	DAG     []string `query:"dag" maxItems:"20" doc:"These DAGs"`
	Limit   int      `query:"limit" minimum:"1" maximum:"100" default:"30" doc:"At most so many runs of each"`
}

type historyInput struct {
	api.JobTypePath
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"30" doc:"At most so many runs"`
}

type nightInput struct {
	Back  int `query:"back" minimum:"1" maximum:"48" default:"6" doc:"Hours before now"`
	Ahead int `query:"ahead" minimum:"1" maximum:"168" default:"6" doc:"Hours after now"`
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many job types; quiet sums up the others"`
}

type workerTimesInput struct {
	ID    string `path:"id" maxLength:"253"`
	Hours int    `query:"hours" minimum:"1" maximum:"168" default:"24" doc:"Only runs that started in the last hours"`
}

func addTimes(a *api.API, memory *calendar.Memory) {
	viewItems := access.Permission{Verb: access.View, Kind: access.Items}
	api.Add(a, api.Operation{
		ID: "get-run-times", Method: http.MethodGet, Path: "/runs/{run}/times", Tag: "runs", Summary: "List the times and workers of a run's items",
		Description: "One column for each fact, for at most 20,000 items that have begun. Times are in milliseconds.",
		May:         viewItems, Reach: api.Named,
		Live: &feed.Topic{Every: timesEvery, Gap: timesGap, Of: []string{api.OfRun}},
	}, func(ctx context.Context, call *api.Call, in *api.RunPath) (times.RunTimes, error) {
		return times.OfRun(ctx, call.Client.Runs(), in.Ref())
	})
	api.Add(a, api.Operation{
		ID: "get-worker-times", Method: http.MethodGet, Path: "/workers/{id}/times", Tag: "workers", Summary: "List the items that a worker ran in the last hours, newest first",
		Description: "The 20 newest runs and the 20 newest open ones are read, and 10,000 items of each. searched_since is set if there are older runs; missed names runs that did not answer or were read in part.",
		May:         viewItems,
	}, func(ctx context.Context, call *api.Call, in *workerTimesInput) (times.WorkerTimes, error) {
		since := time.Now().UTC().Add(-time.Duration(in.Hours) * time.Hour)
		if _, err := call.Client.Workers().Get(ctx, in.ID); err != nil {
			return times.WorkerTimes{}, err
		}
		return times.OfWorker(ctx, call.Client.Runs(), in.ID, since)
	})
	addHistory(a)
	api.Add(a, api.Operation{
		ID: "get-night", Method: http.MethodGet, Path: "/night", Tag: "calendar", Summary: "Show job types over time: the runs of the last hours and those that the next hours bring",
		May: access.Permission{Verb: access.View, Kind: access.JobTypes}, Reach: api.Some,
		Live: api.LiveCalendar(),
	}, func(ctx context.Context, call *api.Call, in *nightInput) (calendar.Night, error) {
		now := time.Now().UTC()
		from := now.Add(-time.Duration(in.Back) * time.Hour).Truncate(nightSteady)
		night, err := memory.Night(ctx, call.Client, now, from, now.Add(time.Duration(in.Ahead)*time.Hour).Truncate(nightSteady))
		night.Cut(in.Limit, func(name string) bool { return call.Sees(access.Scope{JobType: name}) })
		return night, err
	})
}

func addHistory(a *api.API) {
	known := new(times.Memory)
	live := func() *feed.Topic { return &feed.Topic{Every: time.Minute, Gap: stripsGap, Of: api.ChangesOfRuns()} }
	api.Add(a, api.Operation{
		ID: "list-run-strips", Method: http.MethodGet, Path: "/run-strips", Tag: "job types", Summary: "List the last runs of several job types and DAGs: when they ran and how they ended",
		May: access.Permission{Verb: access.View, Kind: access.JobTypes}, Reach: api.Some,
		Live: live(),
	}, func(ctx context.Context, call *api.Call, in *stripsInput) (RunStrips, error) {
		answer := RunStrips{Strips: []times.RunStrip{}, DAGs: []times.DAGStrip{}, AsOf: time.Now().UTC()}
		for _, name := range slices.Concat(in.JobType, in.DAG) {
			if err := jobtype.ValidateName(name); err != nil {
				return answer, problem.New(http.StatusUnprocessableEntity, "", err.Error())
			}
		}
		var err error
		names := slices.DeleteFunc(slices.Clone(in.JobType), func(name string) bool { return !call.Sees(access.Scope{JobType: name}) })
		if len(names) > 0 {
			if answer.Strips, err = times.Strips(ctx, call.Client.Runs(), names, in.Limit); err != nil {
				return answer, err
			}
		}
		viewRuns := access.Permission{Verb: access.View, Kind: access.Runs}
		names = slices.DeleteFunc(slices.Clone(in.DAG), func(name string) bool { return !call.Rights.Allows(viewRuns, access.Scope{DAG: name}) })
		answer.DAGs, err = times.DAGStrips(ctx, call.Client.Runs(), names, in.Limit)
		return answer, err
	})
	api.Add(a, api.Operation{
		ID: "get-job-type-history", Method: http.MethodGet, Path: "/job-types/{name}/history", Tag: "job types",
		Summary: "Show the last runs of a job type, the durations of their jobs, the changes of its settings and its limits",
		May:     access.Permission{Verb: access.View, Kind: access.JobTypes}, Reach: api.Named,
		Live: live(),
	}, func(ctx context.Context, call *api.Call, in *historyInput) (times.RunHistory, error) {
		history, err := known.History(ctx, call.Client, in.Name, in.Limit)
		if !call.Rights.Allows(access.Permission{Verb: access.View, Kind: access.Configuration}, access.Scope{JobType: in.Name}) {
			history = history.WithoutValues()
		}
		return history, err
	})
}
