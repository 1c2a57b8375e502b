package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
)

// stage is the environment of one fixture: a shared server, with its own workers, handler and names.
type stage struct {
	*inProcess
	*site
	// name is the name of the handler, of job types and runs, and the label of workers.
	name string
	// enough ends a detection that waits.
	enough chan struct{}
}

func (p *inProcess) stage(t *testing.T, name string) *stage {
	t.Helper()
	own := &inProcess{t: t, server: p.server}
	own.client = own.dial(name)
	return &stage{inProcess: own, site: newSite(), name: name, enough: make(chan struct{})}
}

// Descriptor implements jobtype.Handler.
func (s *stage) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: s.name} }

// Detect returns the proposals of its params. With more than one page it then waits.
func (s *stage) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	if err := s.site.Detect(ctx, in, out); err != nil {
		return err
	}
	var params siteParams
	if err := json.Unmarshal(in.Params, &params); err != nil || len(params.Proposals) <= contract.MaxPageProposals {
		return err
	}
	select {
	case <-s.enough:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Execute works at its object as the site does, except for two objects whose first attempt fails.
func (s *stage) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	switch {
	case job.Attempt > 1:
	case strings.Contains(string(job.Params), `"fails"`):
		return jobtype.Result{}, errors.New("no disk")
	case strings.Contains(string(job.Params), `"early"`):
		return jobtype.Result{}, jobtype.Defer(passes, "the lock is held")
	case strings.Contains(string(job.Params), `"unready"`):
		return jobtype.Result{}, jobtype.DeferGuard(passes, "the standby lags")
	case strings.Contains(string(job.Params), `"silent"`):
		<-ctx.Done()
		return jobtype.Result{}, ctx.Err()
	}
	return s.site.Execute(ctx, job, progress)
}

// worker starts a worker of the stage and returns its id.
func (s *stage) worker(slots int, suffix string) string {
	s.t.Helper()
	id := s.name + suffix
	node, err := app.StartNode(s.t.Context(), app.NodeOptions{
		Client: s.dial(id), ID: id, DataDir: s.t.TempDir(), MaxDetect: 1, MaxExecute: slots,
		Labels: map[string]string{"stage": s.name, "disk": strings.TrimPrefix(suffix, "-")}, Handlers: []jobtype.Handler{s}, Logger: testsuite.Quiet(),
	})
	require.NoError(s.t, err)
	s.stopLater(node)
	return id
}

// stopLater stops a process at the end of its fixture.
func (s *stage) stopLater(process interface{ Stop(context.Context) error }) {
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), time.Minute)
		defer cancel()
		assert.NoError(s.t, process.Stop(ctx))
	})
}

// spec is a job type of the stage without turns.
func (s *stage) spec(found ...jobtype.Proposal) contract.JobTypeSpec {
	spec := siteSpec(s.t, s.name, "", found...)
	spec.Handler = s.name
	return spec
}

// group begins a run of the stage, which ends with the fixture.
func (s *stage) group(number string, spec contract.JobTypeSpec) string {
	s.t.Helper()
	return s.launch(number, contract.JobGroupInput{Spec: spec})
}

func (s *stage) launch(number string, in contract.JobGroupInput) string {
	s.t.Helper()
	run, err := s.client.Temporal().ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{
		ID: "group/" + in.Spec.Name + "-" + number, TaskQueue: contract.ControlQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(in.Spec.Name)),
	}, contract.JobGroupWorkflow, in)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { s.terminate(run.GetID()) })
	return run.GetID()
}

// dag begins a run of a DAG.
func (s *stage) dag(settings, tasks string) starter.RunRef {
	s.t.Helper()
	text := fmt.Sprintf("version: 1\nname: %s\n%stasks:\n%s", s.name, settings, strings.ReplaceAll(tasks, "WORK", `command: [sleep, "300"], labels: {stage: `+s.name+`}`))
	ref := runDAG(s.t, s.client, compileDAG(s.t, text, nil), starter.DAGOptions{Run: "r"})
	s.t.Cleanup(func() { s.terminate(ref.WorkflowID) })
	return ref
}

func (s *stage) terminate(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), time.Minute)
	defer cancel()
	// An ended run needs no termination.
	_ = s.client.Temporal().TerminateWorkflow(ctx, id, "", "the fixture is over")
}

// setPolicy changes the policy of a running group.
func (s *stage) setPolicy(run string, edit func(*jobtype.Policy)) {
	s.t.Helper()
	policy := s.spec().Policy
	edit(&policy)
	handle, err := s.client.Temporal().UpdateWorkflow(s.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: run, UpdateName: contract.UpdateSetPolicy, Args: []any{contract.SetPolicyInput{Policy: policy}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(s.t, err)
	require.NoError(s.t, handle.Get(s.t.Context(), nil))
}

// works waits until a job is at that object.
func (s *stage) works(object string) {
	s.t.Helper()
	testsuite.WaitFor(s.t, 30*time.Second, "a job at "+object, func() bool { return s.present(object) > 0 })
}

// situation is the arranged state of a fixture and its expected reason.
type situation struct {
	// thing is explained. The reason has this code and object.
	thing  string
	code   contract.Code
	object string
	// says is part of the detail.
	says string
	// timeless: the reason has no start. old: it started before the fixture.
	timeless, old bool
	// until: the reason has an end. exact: the end is known beforehand. lasts: only the duration is known.
	until bool
	exact time.Time
	lasts time.Duration
	// remedy removes the cause and returns afterwards. It is nil for a situation that ends by itself.
	remedy func()
}

// clearsWithin bounds the time from a remedy to the end of its reason. A lost event is repeated after a minute, which would be too late.
const clearsWithin = 30 * time.Second

// check waits for the expected reason, applies the remedy and waits until the reason is gone.
func (s *stage) check(began time.Time, want situation) {
	t := s.t
	t.Helper()
	var found explain.Reason
	testsuite.WaitFor(t, 60*time.Second, fmt.Sprintf("%s: %s(%s)", want.thing, want.code, want.object), func() bool {
		at, ok := s.told(want)
		found = at
		return ok
	})
	now := time.Now()
	assert.Contains(t, found.Detail, want.says)
	assert.NotEmpty(t, found.Remedy)
	switch {
	case want.timeless:
		assert.Zero(t, found.Since)
	case want.old:
		assert.WithinRange(t, found.Since, began.Add(-time.Hour), began, "since")
	default:
		// The server has the same clock. Visibility and Schedules have a resolution of seconds.
		assert.WithinRange(t, found.Since, began.Add(-time.Second), now, "since")
	}
	switch {
	case !want.exact.IsZero():
		assert.WithinDuration(t, want.exact, found.Until, time.Second, "until")
	case want.lasts > 0:
		assert.WithinDuration(t, found.Since.Add(want.lasts), found.Until, time.Second, "until")
	case want.until:
		assert.True(t, found.Until.After(found.Since), "until %s, since %s", found.Until, found.Since)
	default:
		assert.Zero(t, found.Until)
	}
	done := found.Until
	if want.remedy != nil {
		want.remedy()
		done = time.Now()
	}
	gone := testsuite.GoneWithin(t, done, clearsWithin, fmt.Sprintf("%s: %s", want.thing, want.code), func() bool {
		_, still := s.told(want)
		return still
	})
	t.Logf("%s clears %s after its remedy", want.code, gone.Sub(done).Round(time.Millisecond))
}

// told finds the expected reason in the current explanation.
func (s *stage) told(want situation) (explain.Reason, bool) {
	explanation, err := explainer.Explain(s.t.Context(), s.client, want.thing)
	if err != nil {
		s.t.Logf("explain %s: %v", want.thing, err)
		return explain.Reason{}, false
	}
	at := slices.IndexFunc(explanation.Reasons, func(r explain.Reason) bool { return r.Code == want.code && r.Object == want.object })
	if at < 0 {
		return explain.Reason{}, false
	}
	return explanation.Reasons[at], true
}
