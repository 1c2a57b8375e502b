package authoring

import (
	"context"
	"net/http"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
	"github.com/roundsman/roundsman/starter/rerun"
)

// Retried is a retry of a run. Executed lists tasks, or the first jobs.
type Retried struct {
	starter.DAGRetried
	Already bool `json:"already_started,omitempty" doc:"The same request was carried out before"`
	// Jobs is set for a run of a job type.
	Jobs *rerun.Plan `json:"jobs,omitempty"`
}

// RetryPreview is the effect of a retry. Executed lists tasks, or the first jobs.
type RetryPreview struct {
	starter.DAGRetryPreview
	// Within means that an open run tries the tasks again in itself.
	Within bool `json:"within,omitempty"`
	// Jobs is set for a run of a job type.
	Jobs *rerun.Plan `json:"jobs,omitempty"`
}

func (in *retryInput) ofGroup() bool { return in.Ref().Kind() == starter.KindGroup }

// Starting the jobs of a retry needs the permission to run the job type.
func (in *retryInput) choice(ctx context.Context, call *api.Call, starts bool) (rerun.Choice, error) {
	body, choice := in.Body, rerun.Choice{Failed: in.Body.Failed, Missed: in.Body.Missed, Items: in.Body.Items}
	if len(body.From)+len(body.Files)+len(body.Params) > 0 || body.As != "" || body.Document != "" || body.Deadline != 0 || body.AcceptDiff {
		return choice, problem.Newf(http.StatusUnprocessableEntity, "", "%s is a run of a job type: from, as, deadline, document, files, params and accept_diff are about runs of DAGs", in.Ref())
	}
	run, scope := access.Permission{Verb: access.Operate, Kind: access.JobTypes}, in.Scope()
	if starts && call.Rights.ByHandler() {
		var err error
		if scope.Handlers, err = handled.OfJobType(ctx, call.Client, scope.JobType); err != nil {
			return choice, err
		}
	}
	if starts && !call.Rights.Allows(run, scope) {
		return choice, problem.Newf(http.StatusForbidden, problem.CodeAccessDenied, "%s may not %s here, which a retry of a run of a job type needs", call.Name, run)
	}
	return choice, nil
}

func previewGroup(ctx context.Context, call *api.Call, in *retryInput) (RetryPreview, error) {
	choice, err := in.choice(ctx, call, false)
	if err != nil {
		return RetryPreview{}, err
	}
	plan, err := rerun.Of(call.Client).Preview(ctx, in.Ref(), choice)
	return RetryPreview{DAGRetryPreview: starter.DAGRetryPreview{Resumes: in.Ref().WorkflowID, TakenOver: []starter.TakenOver{}, Executed: jobsOf(plan)}, Jobs: &plan}, err
}

func retryGroup(ctx context.Context, call *api.Call, in *retryInput) (Retried, error) {
	choice, err := in.choice(ctx, call, true)
	if err != nil {
		return Retried{}, err
	}
	if in.DryRun {
		preview, err := previewGroup(ctx, call, in)
		return Retried{DAGRetried: starter.DAGRetried{Resumes: preview.Resumes, Executed: preview.Executed}, Jobs: preview.Jobs}, err
	}
	started, err := rerun.Of(call.Client).Start(ctx, in.Ref(), choice, call.Name)
	retried := Retried{DAGRetried: starter.DAGRetried{RunRef: started.RunRef, Resumes: started.Resumes, Executed: jobsOf(started.Plan)}, Already: started.Already}
	if !started.Already {
		retried.Jobs = &started.Plan
	}
	return retried, err
}

func jobsOf(plan rerun.Plan) []string {
	jobs := []string{}
	for _, one := range plan.Again {
		if len(jobs) == 0 || jobs[len(jobs)-1] != one.Job { // A batch is one job.
			jobs = append(jobs, one.Job)
		}
	}
	return jobs
}
