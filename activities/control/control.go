package control

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Fleet is what is needed to speak with the registry; the SDK's client has it.
type Fleet interface {
	QueryWorkflowWithOptions(ctx context.Context, request *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error)
	SignalWithStartWorkflow(ctx context.Context, workflowID, signalName string, signalArg any, options client.StartWorkflowOptions, workflow any, workflowArgs ...any) (client.WorkflowRun, error)
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
}

// Runs is what is needed to look up past runs of a job type; the SDK's client
// has it.
type Runs interface {
	ScheduleClient() client.ScheduleClient
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, isLongPoll bool, filterType historyFilter) client.HistoryEventIterator
}

// Boot is what is needed to configure the registry when the control plane
// starts; the SDK's client has it.
type Boot interface {
	NewWithStartWorkflowOperation(options client.StartWorkflowOptions, workflow any, args ...any) client.WithStartWorkflowOperation
	UpdateWithStartWorkflow(ctx context.Context, options client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error)
}

// Attempts is what is needed to end an activity in its worker's stead; the SDK's
// client has it.
type Attempts interface {
	CompleteActivityByID(ctx context.Context, namespace, workflowID, runID, activityID string, result any, err error) error
}

// Signals is what is needed to speak with a workflow that runs, and to end an
// activity of one; the SDK's client has it.
type Signals interface {
	Attempts
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Updates is what is needed to request something of a workflow that answers at once;
// the SDK's client has it.
type Updates interface {
	UpdateWorkflow(ctx context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error)
}

// Groups is what is needed of job groups; the SDK's client has it.
type Groups interface {
	Runs
	Messages
	Raw
}

// Messages is what is needed to send to workflows; the SDK's client has it.
type Messages interface {
	Signals
	Updates
}

// Raw is what is needed of calls that the SDK does not wrap; its client has it.
type Raw interface {
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Client is all that the activities need of the SDK's client.
type Client interface {
	Fleet
	Groups
	Boot
}

// Control has the activities as methods.
type Control struct {
	fleet     Fleet
	runs      Runs
	boot      Boot
	signals   Signals
	updates   Updates
	attempts  Attempts
	raw       Raw
	converter converter.DataConverter
	config    contract.FleetConfig
	// plane is this control plane; nil: it is not announced. undeclared means that
	// config is only for a registry that has none.
	plane      *contract.ControlPlane
	undeclared bool
	// auditEntries is how many entries the audit log is to keep; 0: its default.
	auditEntries int
	// auditAge is how long it is to keep each; below 0: without end.
	auditAge jobtype.Duration
	// notifies says that this control plane has receivers of notifications.
	notifies bool
	// visibilityLag is how long visibility is given to show what has happened.
	visibilityLag time.Duration
}

// Option changes how a [Control] is made.
type Option func(*Control)

// WithConverter reads the results of canceled groups with c, which must be the
// converter that the control plane's client uses; the default is the SDK's.
// A run's summary leaves out results that cannot be read.
func WithConverter(c converter.DataConverter) Option {
	return func(control *Control) { control.converter = c }
}

// WithAuditEntries sets how many entries the audit log keeps.
func WithAuditEntries(entries int) Option {
	return func(control *Control) { control.auditEntries = entries }
}

// WithAuditAge sets how long the audit log keeps an entry; 0: without end.
func WithAuditAge(age jobtype.Duration) Option {
	return func(control *Control) { control.auditAge = cmp.Or(age, -1) }
}

// WithNotifications says whether the control plane has receivers of notifications.
func WithNotifications(has bool) Option {
	return func(control *Control) { control.notifies = has }
}

// WithVisibilityLag sets how long visibility is given to show what has happened;
// the default is two seconds.
func WithVisibilityLag(lag time.Duration) Option {
	return func(control *Control) { control.visibilityLag = lag }
}

// New returns the activities. config are the thresholds of the registry; zero
// fields mean the default.
func New(c Client, config contract.FleetConfig, options ...Option) *Control {
	control := &Control{fleet: c, runs: c, boot: c, signals: c, updates: c, attempts: c, raw: c, converter: converter.GetDefaultDataConverter(), config: config.WithDefaults(), visibilityLag: 2 * time.Second}
	for _, option := range options {
		option(control)
	}
	return control
}

// Registry is where activities are registered: a worker or a test environment.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities under their names.
func Register(r Registry, c *Control) {
	r.RegisterActivityWithOptions(c.Prepare, activity.RegisterOptions{Name: contract.PrepareActivity})
	r.RegisterActivityWithOptions(c.CompileDAG, activity.RegisterOptions{Name: contract.CompileDAGActivity})
	r.RegisterActivityWithOptions(c.LookUpJobType, activity.RegisterOptions{Name: contract.LookUpJobTypeActivity})
	r.RegisterActivityWithOptions(c.Windows, activity.RegisterOptions{Name: contract.WindowsActivity})
	r.RegisterActivityWithOptions(c.Successes, activity.RegisterOptions{Name: contract.SuccessesActivity})
	r.RegisterActivityWithOptions(c.Succeeded, activity.RegisterOptions{Name: contract.SucceededActivity})
	r.RegisterActivityWithOptions(c.Noop, activity.RegisterOptions{Name: contract.NoopActivity})
	r.RegisterActivityWithOptions(c.GiveUp, activity.RegisterOptions{Name: contract.GiveUpActivity})
	r.RegisterActivityWithOptions(c.EnsureFleet, activity.RegisterOptions{Name: contract.EnsureFleetActivity})
	r.RegisterActivityWithOptions(c.RecordAudit, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	r.RegisterActivityWithOptions(c.AdoptAudit, activity.RegisterOptions{Name: contract.AdoptAuditActivity})
	r.RegisterActivityWithOptions(c.EntityEnd, activity.RegisterOptions{Name: contract.EntityEndActivity})
	r.RegisterActivityWithOptions(c.CallAdmission, activity.RegisterOptions{Name: contract.CallAdmissionActivity})
	r.RegisterActivityWithOptions(c.PutPage, activity.RegisterOptions{Name: contract.PutPageActivity})
	r.RegisterActivityWithOptions(c.ReadPage, activity.RegisterOptions{Name: contract.ReadPageActivity})
	r.RegisterActivityWithOptions(c.ClosePages, activity.RegisterOptions{Name: contract.ClosePagesActivity})
	r.RegisterActivityWithOptions(c.EnsureAdmission, activity.RegisterOptions{Name: contract.EnsureAdmissionActivity})
}
