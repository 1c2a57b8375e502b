package authoring

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
)

// Spec is the spec of a DAG with its files and params.
type Spec struct {
	Document string            `json:"document" minLength:"1" doc:"The spec's text, YAML"`
	Files    map[string]string `json:"files,omitempty" doc:"The files of its sub-DAGs, by the names that it has for them"`
	Params   map[string]any    `json:"params,omitempty" doc:"Values in place of the spec's params"`
}

// StartedDAG is the started run. A dry run has no ids.
type StartedDAG struct {
	DAG   string `json:"dag"`
	Tasks int    `json:"tasks"`
	starter.RunRef
	DryRun bool `json:"dry_run,omitempty"`
}

// ValidatedDAG is the result for a valid spec.
type ValidatedDAG struct {
	Valid    bool           `json:"valid"`
	DAG      string         `json:"dag"`
	Tasks    int            `json:"tasks"`
	Params   map[string]any `json:"params"`
	Warnings spec.Faults    `json:"warnings"`
}

type dagInput struct {
	DryRun bool `query:"dry_run" doc:"Check everything and start nothing"`
	Body   struct {
		Spec
		As        string           `json:"as,omitempty" maxLength:"100" doc:"Name of the run; default: the time"`
		Deadline  jobtype.Duration `json:"deadline,omitempty" doc:"Cancel running tasks and fail after it"`
		Resources map[string]int   `json:"resources,omitempty" doc:"Sizes of pools, as a configuration declares them"`
	}
}

type retryInput struct {
	api.RunPath
	DryRun bool `query:"dry_run" doc:"As retry-preview"`
	Body   struct {
		Failed     bool              `json:"failed,omitempty" doc:"Of a run of a job type: only jobs that failed"`
		Missed     bool              `json:"missed,omitempty" doc:"Of a run of a job type: only jobs that were never executed"`
		Items      []string          `json:"items,omitempty" maxItems:"1000" doc:"Of a run of a job type: only jobs with these ids or keys"`
		From       []string          `json:"from,omitempty" maxItems:"1000" doc:"Tasks to execute again, with everything after them, although they succeeded"`
		As         string            `json:"as,omitempty" maxLength:"100" doc:"Name of the new run; default: the time"`
		Deadline   jobtype.Duration  `json:"deadline,omitempty" doc:"Default: that of the earlier run"`
		Document   string            `json:"document,omitempty" doc:"The spec as it is now; default: that of the earlier run"`
		Files      map[string]string `json:"files,omitempty"`
		Params     map[string]any    `json:"params,omitempty"`
		AcceptDiff bool              `json:"accept_diff,omitempty" doc:"Execute changed tasks, with all tasks after them"`
	}
}

var operateRuns = access.Permission{Verb: access.Operate, Kind: access.Runs} //nolint:gochecknoglobals // constants

func (s *service) dags() {
	api.Add(s.api, api.Operation{
		ID: "validate-dag", Method: http.MethodPost, Path: "/dag-runs/validate", Tag: "runs", Summary: "Check the spec of a DAG: all faults at once, with line and column",
		May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: api.Some, Safe: true, Document: true,
	}, func(ctx context.Context, call *api.Call, in *struct{ Body Spec }) (ValidatedDAG, error) {
		compiled, err := s.compile(ctx, in.Body)
		if err != nil {
			return ValidatedDAG{}, err
		}
		params := compiled.Spec.Params
		if params == nil {
			params = map[string]any{}
		}
		return ValidatedDAG{Valid: true, DAG: compiled.Header.Name, Tasks: compiled.Graph.Len(), Params: params, Warnings: lists.OrEmpty(compiled.Warnings())}, call.Need(access.Scope{DAG: compiled.Header.Name})
	})
	api.Add(s.api, api.Operation{
		ID: "run-dag", Method: http.MethodPost, Path: "/dag-runs", Tag: "runs", Summary: "Start a run of a DAG",
		Description: "The caller writes the tasks, so this needs the permission to change the configuration.",
		May:         changeConfiguration, Reach: api.Some, Document: true, Status: http.StatusAccepted,
	}, s.runDAG)
	api.Add(s.api, api.Operation{
		ID: "retry-run", Method: http.MethodPost, Path: "/runs/{run}/retry", Tag: "runs", Summary: "Start a run that executes the failed part of an ended run again",
		Description: "Of a job type, the new run has the undone or the chosen jobs, and needs the permission to run the job type. " +
			"Of a DAG, it takes over succeeded tasks and executes failed or blocked ones. An open run tries its failed tasks again, or those of from. " +
			"A document needs the permission to change the configuration.",
		May: operateRuns, Reach: api.Named, Status: http.StatusAccepted,
	}, s.retryRun)
	api.Add(s.api, api.Operation{
		ID: "preview-retry", Method: http.MethodPost, Path: "/runs/{run}/retry-preview", Tag: "runs", Summary: "Preview a retry: items to execute, to leave out and to take over",
		May: access.Permission{Verb: access.View, Kind: access.Runs}, Reach: api.Named, Safe: true,
	}, func(ctx context.Context, call *api.Call, in *retryInput) (RetryPreview, error) {
		if in.ofGroup() {
			return previewGroup(ctx, call, in)
		}
		retry, err := s.retry(ctx, call, in)
		if err != nil {
			return RetryPreview{}, err
		}
		described, err := call.Client.Runs().Describe(ctx, in.Ref())
		if err != nil {
			return RetryPreview{}, err
		}
		if described.Open() {
			return previewOpen(ctx, call, in)
		}
		preview, err := call.Client.DAGs().PreviewRetry(ctx, in.Ref(), retry)
		return RetryPreview{DAGRetryPreview: preview}, err
	})
}

func (s *service) runDAG(ctx context.Context, call *api.Call, in *dagInput) (StartedDAG, error) {
	compiled, err := s.compile(ctx, in.Body.Spec)
	if err != nil {
		return StartedDAG{}, err
	}
	started := StartedDAG{DAG: compiled.Header.Name, Tasks: compiled.Graph.Len(), DryRun: in.DryRun}
	if err := needGraph(ctx, call, compiled); err != nil {
		return started, err
	}
	options := starter.DAGOptions{Run: in.Body.As, By: call.Name, Deadline: in.Body.Deadline.Std(), Resources: in.Body.Resources}
	if err := checkOptions(options); err != nil || in.DryRun {
		return started, err
	}
	started.RunRef, err = call.Client.DAGs().Run(ctx, compiled, options)
	return started, err
}

// Failures of a sub-DAG count toward the retry budgets of its name, so its name counts too.
func needGraph(ctx context.Context, call *api.Call, compiled *spec.Compiled) error {
	for _, name := range compiled.Budgeted() {
		if err := call.Need(access.Scope{DAG: name}); err != nil {
			return err
		}
	}
	return call.NeedHandlers(access.Scope{DAG: compiled.Header.Name}, func() ([]string, error) { return handled.OfGraph(ctx, call.Client, compiled.Graph) })
}

func checkOptions(options starter.DAGOptions) error {
	if options.Run != "" {
		if err := starter.CheckRunName(options.Run); err != nil {
			return problem.New(http.StatusUnprocessableEntity, "", err.Error())
		}
	}
	if options.Deadline != 0 && options.Deadline < time.Second {
		return problem.Newf(http.StatusUnprocessableEntity, "", "deadline is %s: write at least 1s", options.Deadline)
	}
	return nil
}

func (s *service) retry(ctx context.Context, call *api.Call, in *retryInput) (starter.DAGRetry, error) {
	retry := starter.DAGRetry{From: in.Body.From, AcceptDiff: in.Body.AcceptDiff, Options: starter.DAGOptions{Run: in.Body.As, By: call.Name, Deadline: in.Body.Deadline.Std()}}
	if in.Body.Failed || in.Body.Missed || len(in.Body.Items) > 0 {
		return retry, problem.Newf(http.StatusUnprocessableEntity, "", "%s is a run of a DAG: failed, missed and items are about runs of job types, from names tasks", in.Ref())
	}
	if err := checkOptions(retry.Options); err != nil {
		return retry, err
	}
	if in.Body.Document == "" {
		if in.Body.AcceptDiff || len(in.Body.Params)+len(in.Body.Files) > 0 {
			return retry, problem.New(http.StatusUnprocessableEntity, "", "accept_diff, params and files are about the spec as it is now: send its document")
		}
		return retry, nil
	}
	compiled, err := s.compile(ctx, Spec{Document: in.Body.Document, Files: in.Body.Files, Params: in.Body.Params})
	if err != nil {
		return retry, err
	}
	scope := access.Scope{DAG: compiled.Header.Name}
	if call.Rights.ByHandler() {
		if scope.Handlers, err = handled.OfGraph(ctx, call.Client, compiled.Graph); err != nil {
			return retry, err
		}
	}
	if !call.Rights.Allows(changeConfiguration, scope) {
		return retry, problem.Newf(http.StatusForbidden, problem.CodeAccessDenied, "%s may not %s here, which a document needs", call.Name, changeConfiguration)
	}
	retry.Compiled = compiled
	return retry, nil
}

func (s *service) retryRun(ctx context.Context, call *api.Call, in *retryInput) (Retried, error) {
	if in.ofGroup() {
		return retryGroup(ctx, call, in)
	}
	retried, err := s.retryDAG(ctx, call, in)
	return Retried{DAGRetried: retried}, err
}

func (s *service) retryDAG(ctx context.Context, call *api.Call, in *retryInput) (starter.DAGRetried, error) {
	retry, err := s.retry(ctx, call, in)
	if err != nil {
		return starter.DAGRetried{}, err
	}
	snapshot, err := call.Client.Runs().Describe(ctx, in.Ref())
	if err != nil {
		return starter.DAGRetried{}, err
	}
	if snapshot.Open() {
		return retryOpen(ctx, call, in, retry)
	}
	if in.DryRun {
		preview, err := call.Client.DAGs().PreviewRetry(ctx, in.Ref(), retry)
		return starter.DAGRetried{Resumes: preview.Resumes, Imported: len(preview.TakenOver), Executed: preview.Executed, Dropped: preview.Dropped, Diff: preview.Diff}, err
	}
	return call.Client.DAGs().Retry(ctx, in.Ref(), retry)
}

func retryOpen(ctx context.Context, call *api.Call, in *retryInput, retry starter.DAGRetry) (starter.DAGRetried, error) {
	tried := starter.DAGRetried{RunRef: in.Ref(), Resumes: in.Ref().WorkflowID, Executed: []string{}}
	if retry.Compiled != nil || retry.Options.Run != "" || retry.Options.Deadline != 0 || in.DryRun {
		return tried, problem.Newf(http.StatusConflict, problem.CodeRefused, "%s is open: its tasks are tried again in it", in.Ref()).With("leave out document, as, deadline and dry_run, or cancel it first")
	}
	if len(retry.From) == 0 {
		changed, err := call.Client.DAGs().RetryTasks(ctx, in.Ref(), nil, call.Name)
		tried.Executed = append(tried.Executed, changed.Tasks...)
		return tried, err
	}
	for i, task := range retry.From {
		changed, err := call.Client.DAGs().RerunTask(call.Part(ctx, i), in.Ref(), task, call.Name)
		if err != nil {
			return tried, err
		}
		tried.Executed = append(tried.Executed, changed.Tasks...)
	}
	return tried, nil
}

func previewOpen(ctx context.Context, call *api.Call, in *retryInput) (RetryPreview, error) {
	preview := RetryPreview{DAGRetryPreview: starter.DAGRetryPreview{Resumes: in.Ref().WorkflowID, TakenOver: []starter.TakenOver{}, Executed: []string{}}, Within: true}
	if in.Body.Document != "" || len(in.Body.From) > 0 {
		return preview, problem.Newf(http.StatusConflict, problem.CodeRefused, "%s is open: its tasks are tried again in it", in.Ref()).With("leave out document and from, or cancel it first")
	}
	for _, states := range [][]string{{dag.Failed.String(), dag.Canceled.String()}, {dag.UpstreamFailed.String()}} {
		tasks, _, err := call.Client.Runs().Items(ctx, in.Ref(), starter.ItemFilter{States: states, Limit: starter.All})
		if err != nil {
			return preview, err
		}
		for _, task := range tasks {
			preview.Executed = append(preview.Executed, task.ID)
		}
	}
	return preview, nil
}

func (s *service) compile(ctx context.Context, written Spec) (*spec.Compiled, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	loaded, err := spec.Load(fileName, []byte(written.Document))
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(written.Params)
	if err != nil {
		return nil, err
	}
	if err := loaded.SetParamsJSON(params); err != nil {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "", "%s", err)
	}
	return spec.Compile(loaded, files(written.Files))
}

type files map[string]string

// ReadFile implements spec.Files.
func (f files) ReadFile(name string) ([]byte, error) {
	text, sent := f[name]
	if !sent {
		return nil, fmt.Errorf("it was not sent: put it into files: %w", fs.ErrNotExist)
	}
	return []byte(text), nil
}
