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
	"github.com/roundsman/roundsman/internal/temporal/codec"
	"github.com/roundsman/roundsman/jobtype"
)

// Fleet calls the registry; the SDK's client implements it.
type Fleet interface {
	QueryWorkflowWithOptions(ctx context.Context, request *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error)
	SignalWithStartWorkflow(ctx context.Context, workflowID, signalName string, signalArg any, options client.StartWorkflowOptions, workflow any, workflowArgs ...any) (client.WorkflowRun, error)
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
}

// Runs reads past runs of a job type; the SDK's client implements it.
type Runs interface {
	ScheduleClient() client.ScheduleClient
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, isLongPoll bool, filterType historyFilter) client.HistoryEventIterator
}

// Boot configures the registry when the control plane starts; the SDK's client implements it.
type Boot interface {
	NewWithStartWorkflowOperation(options client.StartWorkflowOptions, workflow any, args ...any) client.WithStartWorkflowOperation
	UpdateWithStartWorkflow(ctx context.Context, options client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error)
}

// Attempts ends an activity in place of its worker; the SDK's client implements it.
type Attempts interface {
	CompleteActivityByID(ctx context.Context, namespace, workflowID, runID, activityID string, result any, err error) error
}

// Signals is the part of the SDK's client that sends to a running workflow, and ends one of its activities.
type Signals interface {
	Attempts
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Updates is the part of the SDK's client for requests with an immediate answer.
type Updates interface {
	UpdateWorkflow(ctx context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error)
}

// Groups calls job groups; the SDK's client implements it.
type Groups interface {
	Runs
	Messages
	Raw
}

// Messages sends to workflows; the SDK's client implements it.
type Messages interface {
	Signals
	Updates
}

// Raw makes calls that the SDK does not wrap; its client implements it.
type Raw interface {
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Client is the required part of the SDK's client.
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
	// undeclared means that config applies only to a registry without thresholds.
	plane      *contract.ControlPlane
	undeclared bool
	// auditEntries bounds the entries of the audit log; 0 means its default.
	auditEntries int
	auditAge     jobtype.Duration
	notifies     bool
	// visibilityLag is the longest delay before visibility shows an event.
	visibilityLag time.Duration
	// keys are those of pages that were read.
	keys pageKeys
}

// Option changes an option of [New].
type Option func(*Control)

// WithAuditEntries bounds the entries of the audit log.
func WithAuditEntries(entries int) Option {
	return func(control *Control) { control.auditEntries = entries }
}

// WithAuditAge bounds the age of the entries; 0 means no bound.
func WithAuditAge(age jobtype.Duration) Option {
	return func(control *Control) { control.auditAge = cmp.Or(age, -1) }
}

// WithNotifications sets whether the control plane has receivers of notifications.
func WithNotifications(has bool) Option {
	return func(control *Control) { control.notifies = has }
}

// WithVisibilityLag sets the longest delay of visibility; the default is two seconds.
func WithVisibilityLag(lag time.Duration) Option {
	return func(control *Control) { control.visibilityLag = lag }
}

// New returns the activities. Zero fields of config mean the default.
func New(c Client, config contract.FleetConfig, options ...Option) *Control {
	control := &Control{fleet: c, runs: c, boot: c, signals: c, updates: c, attempts: c, raw: c, converter: codec.DataConverter(), config: config.WithDefaults(), visibilityLag: 2 * time.Second}
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
	r.RegisterActivityWithOptions(c.ReadKeys, activity.RegisterOptions{Name: contract.ReadKeysActivity})
	r.RegisterActivityWithOptions(c.ClosePages, activity.RegisterOptions{Name: contract.ClosePagesActivity})
	r.RegisterActivityWithOptions(c.EnsureAdmission, activity.RegisterOptions{Name: contract.EnsureAdmissionActivity})
}
