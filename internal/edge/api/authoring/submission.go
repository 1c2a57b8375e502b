package authoring

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/handled"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// SubmittedJobs is the result of a submission, or the preview of a dry run.
type SubmittedJobs struct {
	JobType string `json:"job_type"`
	jobtypes.Submitted
	DryRun bool `json:"dry_run,omitempty"`
}

type submissionInput struct {
	api.JobTypePath
	DryRun            bool `query:"dry_run" doc:"Check the jobs against the handler and start nothing"`
	AllowUnregistered bool `query:"allow_unregistered" doc:"Take params that no known handler can check"`
	Body              struct {
		ID           string             `json:"id,omitempty" maxLength:"63" doc:"Makes repeating it harmless; default: a new one"`
		IgnoreWindow bool               `json:"ignore_window,omitempty" doc:"Run although the maintenance window is closed"`
		Proposals    []jobtype.Proposal `json:"proposals" minItems:"1"`
	}
}

func (s *service) submissions() {
	api.Add(s.api, api.Operation{
		ID: "submit-jobs", Method: http.MethodPost, Path: "/job-types/{name}/submissions", Tag: "job types", Summary: "Run jobs of a job type now, without a detection",
		Description: "They are one run, or nothing is started. The same id or Idempotency-Key again starts nothing and returns already. A proposal with a DAG needs the permission to change the configuration.",
		May:         access.Permission{Verb: access.Operate, Kind: access.JobTypes}, Reach: api.Named, Status: http.StatusAccepted,
	}, s.submit)
}

func (s *service) submit(ctx context.Context, call *api.Call, in *submissionInput) (SubmittedJobs, error) {
	known, err := jobtypes.Of(call.Client).Get(ctx, in.Name)
	if err != nil {
		return SubmittedJobs{}, err
	}
	writesDAG := slices.ContainsFunc(in.Body.Proposals, func(p jobtype.Proposal) bool { return p.DAG != "" })
	scope := in.Scope()
	for _, p := range in.Body.Proposals {
		if p.DAG == "" || !call.Rights.ByHandler() {
			continue
		}
		handlers, err := handled.OfText(ctx, call.Client, p.DAG)
		if err != nil {
			return SubmittedJobs{}, problem.New(http.StatusUnprocessableEntity, "", err.Error())
		}
		scope.Handlers = append(scope.Handlers, handlers...)
	}
	if writesDAG && !call.Rights.Allows(changeConfiguration, scope) {
		return SubmittedJobs{}, problem.Newf(http.StatusForbidden, problem.CodeAccessDenied, "%s may not %s here, which a proposal with a DAG needs", call.Name, changeConfiguration)
	}
	if err := s.checkJobs(ctx, call, in, known.Spec); err != nil {
		return SubmittedJobs{}, err
	}
	submission := contract.Submission{ID: in.Body.ID, By: call.Name, IgnoreWindow: in.Body.IgnoreWindow, Proposals: in.Body.Proposals}
	submission.ID = cmp.Or(submission.ID, call.Request, newSubmission(time.Now()))
	if in.DryRun {
		err := jobtypes.CheckSubmission(known, submission)
		return SubmittedJobs{JobType: in.Name, Submitted: jobtypes.Submitted{Jobs: len(submission.Proposals)}, DryRun: true}, err
	}
	submitted, err := jobtypes.Of(call.Client).Submit(ctx, known, submission)
	return SubmittedJobs{JobType: in.Name, Submitted: submitted}, err
}

// newSubmission returns an id that sorts by time. Its random end separates submissions of one moment.
func newSubmission(now time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // It never fails.
	return now.UTC().Format("20060102t150405") + "-" + hex.EncodeToString(random[:])
}

func (s *service) checkJobs(ctx context.Context, call *api.Call, in *submissionInput, spec contract.JobTypeSpec) error {
	if spec.DAG != nil {
		return nil // Submit checks them.
	}
	handlers, _ := s.api.Handlers()
	named := func(d jobtype.Descriptor) bool { return d.Name == spec.Handler }
	at := slices.IndexFunc(handlers, named)
	if at < 0 {
		known, err := call.Client.Workers().Handlers(ctx)
		if err != nil && !in.AllowUnregistered {
			return err
		}
		handlers, at = known, slices.IndexFunc(known, named)
	}
	switch {
	case at >= 0:
	case in.AllowUnregistered:
		return nil
	default:
		return problem.Newf(http.StatusUnprocessableEntity, "", "neither this server nor a worker has registered handler %s, so the params cannot be checked", spec.Handler).
			With("start a worker that has it, or send allow_unregistered=true")
	}
	faults, err := config.CheckProposals(handlers[at], spec.Params, in.Body.Proposals)
	if err == nil && len(faults) > 0 {
		err = &jobtypes.SubmissionError{JobType: spec.Name, Faults: faults}
	}
	return err
}
