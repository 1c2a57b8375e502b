package workers

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// answers is the workflow through which this process answers queries, see [contract.WorkerWorkflow].
//
// Its queries read the process: they are never replayed. The workflow ends at once, so that a dead process leaves no
// open workflow. The functions must return at once and may be called concurrently.
type answers struct {
	describe func() contract.WorkerReport
	// look makes the process read its settings from the registry.
	look    func()
	attempt func(contract.AttemptQueryInput) contract.AttemptQueryResult
	used    func() contract.WorkerUsage
	log     func(contract.LogQueryInput) contract.LogQueryResult
	// artifact returns the files that an attempt has left.
	artifact func(contract.ArtifactQueryInput) contract.ArtifactQueryResult
}

func (a *answers) open(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryReport, a.report,
			workflow.QueryHandlerOptions{Description: "What this process runs right now."}),
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryAttempt, a.knows,
			workflow.QueryHandlerOptions{Description: "Does this process run that attempt, or how did it end?"}),
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryLog, a.printed,
			workflow.QueryHandlerOptions{Description: "What has a job printed in this process?"}),
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryArtifact, a.left,
			workflow.QueryHandlerOptions{Description: "Which files has a job left on this worker?"}),
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryWorkerUsage, a.usage,
			workflow.QueryHandlerOptions{Description: "How many slots were in use in the last hours?"}),
		workflow.SetQueryHandlerWithOptions(ctx, contract.QueryRefresh, a.refresh,
			workflow.QueryHandlerOptions{Description: "Ask the registry for new settings at once."}),
	)
}

func (a *answers) report() (contract.WorkerReport, error) { return a.describe(), nil }

func (a *answers) knows(in contract.AttemptQueryInput) (contract.AttemptQueryResult, error) {
	return a.attempt(in), nil
}

func (a *answers) usage() (contract.WorkerUsage, error) { return a.used(), nil }

func (a *answers) printed(in contract.LogQueryInput) (contract.LogQueryResult, error) {
	return a.log(in), nil
}

func (a *answers) left(in contract.ArtifactQueryInput) (contract.ArtifactQueryResult, error) {
	return a.artifact(in), nil
}

func (a *answers) refresh() (contract.WorkerReport, error) {
	a.look()
	return a.describe(), nil
}
