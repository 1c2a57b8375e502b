package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/admission"
	"github.com/roundsman/roundsman/workflows/audit"
	"github.com/roundsman/roundsman/workflows/dagrun"
	"github.com/roundsman/roundsman/workflows/fleet"
	"github.com/roundsman/roundsman/workflows/group"
	"github.com/roundsman/roundsman/workflows/notify"
	"github.com/roundsman/roundsman/workflows/run"
)

// Registry is a worker, a replayer or a test environment.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register registers every workflow under its name.
func Register(r Registry) {
	r.RegisterWorkflowWithOptions(group.JobGroup, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	r.RegisterWorkflowWithOptions(dagrun.DAG, workflow.RegisterOptions{Name: contract.DAGWorkflow})
	r.RegisterWorkflowWithOptions(admission.Workflow, workflow.RegisterOptions{Name: contract.AdmissionWorkflow})
	r.RegisterWorkflowWithOptions(fleet.Workflow, workflow.RegisterOptions{Name: contract.FleetWorkflow})
	r.RegisterWorkflowWithOptions(audit.Workflow, workflow.RegisterOptions{Name: contract.AuditWorkflow})
	r.RegisterWorkflowWithOptions(notify.Workflow, workflow.RegisterOptions{Name: contract.NotificationsWorkflow})
}

// Steering is the interceptor that the workflows need, see [run.Steering].
func Steering() interceptor.WorkerInterceptor { return run.Steering() }
