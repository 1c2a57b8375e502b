package contract

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Messages of the fleet, the one worker registry of a namespace.
const (
	// UpdateRegisterWorker takes a WorkerRegistration and returns a RegisterWorkerResult. Update-with-Start creates a
	// missing registry.
	UpdateRegisterWorker = "register-worker"
	// UpdateOperateWorker takes an OperateWorkerInput and returns a WorkerDetail. It refuses unknown workers.
	UpdateOperateWorker = "operate-worker"
	// UpdateCleanupWorkers takes a CleanupWorkersInput and returns a CleanupWorkersResult.
	UpdateCleanupWorkers = "cleanup-workers"
	// UpdateConfigureFleet takes a ConfigureFleetInput and returns the previous FleetConfig.
	UpdateConfigureFleet = "configure-fleet"
	// SignalUnregisterWorker takes an UnregisterWorkerInput.
	SignalUnregisterWorker = "unregister-worker"
	// SignalWatchFleet and SignalUnwatchFleet take a WatchFleetInput. Each change causes a SignalFleetChanged.
	SignalWatchFleet   = "watch-fleet"
	SignalUnwatchFleet = "unwatch-fleet"
	// SignalFleetChanged takes a FleetView. Views are coalesced: only the newest matters.
	SignalFleetChanged = "fleet-changed"

	// QueryFleet takes a WatchFleetInput as filter, or no argument, and returns a FleetView.
	QueryFleet = "fleet"
	// QueryWorkers takes a WorkersQueryInput and returns a WorkersQueryResult.
	QueryWorkers = "workers"
	// QueryKnown takes a KnownInput and returns whether that instance is registered.
	QueryKnown = "known"
	// QueryCleanup takes a CleanupWorkersInput and returns the CleanupWorkersResult of the update as a preview.
	QueryCleanup = "cleanup"
	// QueryThresholds returns a ThresholdsResult, also from a terminated registry.
	QueryThresholds = "thresholds"
	// QueryHandlers returns a HandlersQueryResult, for validating a configuration.
	QueryHandlers = "handlers"
)

// Capability is one handler of one worker.
type Capability struct {
	Handler string `json:"handler"`
	Detect  bool   `json:"detect" required:"false"`
	Execute bool   `json:"execute" required:"false"`
	// MaxDetect and MaxExecute limit the handler on this worker; 0 means only the worker's slots do.
	MaxDetect  int `json:"max_detect,omitempty"`
	MaxExecute int `json:"max_execute,omitempty"`
	// Descriptor travels only with the registration; views leave it empty.
	Descriptor *jobtype.Descriptor `json:"descriptor,omitempty"`
}

// CapabilityOf returns the capability of a worker that has the handler.
func CapabilityOf(d jobtype.Descriptor) Capability {
	return Capability{
		Handler: d.Name, Detect: !d.ExecuteOnly, Execute: !d.DetectOnly,
		MaxDetect: d.MaxDetectConcurrency, MaxExecute: d.MaxExecuteConcurrency, Descriptor: &d,
	}
}

// WorkerRegistration is the data that a worker process registers before it polls a job queue.
type WorkerRegistration struct {
	ID string `json:"id"`
	// Instance is unique to the process and part of its queue names.
	Instance     string            `json:"instance"`
	Host         string            `json:"host"`
	PID          int               `json:"pid"`
	Version      string            `json:"version"`
	Labels       map[string]string `json:"labels,omitempty"`
	Capabilities []Capability      `json:"capabilities"`
	// JobTypes restricts the worker to these job types; empty means all job types of its handlers.
	JobTypes []string `json:"job_types,omitempty"`
	// Shared lists the job types whose shared queue it polls.
	Shared     []string `json:"shared,omitempty"`
	MaxDetect  int      `json:"max_detect"`
	MaxExecute int      `json:"max_execute"`
	// TakeOver fences a live instance of the same id instead of being refused.
	TakeOver bool `json:"take_over,omitempty"`
	// Unanswered is a stale instance of the same id whose process did not answer a query.
	Unanswered string `json:"unanswered,omitempty"`
	// Answered is a stale instance of the same id whose process answered a query. The refusal is then audited.
	Answered string `json:"answered,omitempty"`
	// Remote means that the worker connects through a gateway. No process answers queries for it.
	Remote bool `json:"remote,omitempty"`
	// Caps set by an operator. The worker repeats them in case the registry lost them.
	Resized *WorkerCaps `json:"resized,omitempty"`
	// Kept is the operator's drain or cordon, repeated for the same reason.
	Kept *WorkerTransition `json:"kept,omitempty"`
}

// WorkerProcess identifies a process of a worker for operators.
type WorkerProcess struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Process returns the registering process.
func (r WorkerRegistration) Process() WorkerProcess { return WorkerProcess{Host: r.Host, PID: r.PID} }

// RegisterWorkerResult is the result of a registration. Refused: another live instance holds the id.
type RegisterWorkerResult struct {
	Accepted bool             `json:"accepted"`
	Refused  *RegisteredOther `json:"refused,omitempty"`
	// Stale: the heartbeats of the other instance are late. It loses the id unless its process answers a query.
	Stale bool `json:"stale,omitempty"`
	// Settings are set if Accepted.
	Settings *WorkerSettings `json:"settings,omitempty"`
}

// RegisteredOther describes the instance that holds the id.
type RegisteredOther struct {
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Instance string `json:"instance"`
	// Age is the time since its registration. SinceBeat bounds the time since its heartbeat.
	Age       jobtype.Duration `json:"age"`
	SinceBeat jobtype.Duration `json:"since_beat"`
}

// Incarnation is one process of a worker id.
type Incarnation struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

// UnregisterWorkerInput makes the incarnation OFFLINE at once, but not a newer one of the id.
type UnregisterWorkerInput = Incarnation

// KnownInput is the argument of [QueryKnown] and [QuerySettings].
type KnownInput = Incarnation

// WatchFleetInput subscribes a workflow. A repeat restores a lost subscription. The fleet drops ended watchers.
type WatchFleetInput struct {
	WorkflowID string `json:"workflow_id"`
	// Handler and JobType select the workers able to serve them; empty selects all.
	Handler string `json:"handler,omitempty"`
	JobType string `json:"job_type,omitempty"`
	// Newest view of the watcher, which receives the changes since then. 0 requests a whole view at once.
	Seq int64 `json:"seq,omitempty"`
}

// WorkerState is the life-cycle state of a worker.
type WorkerState string

// The worker states. Operators set draining and cordoned.
const (
	WorkerOnline      WorkerState = "ONLINE"
	WorkerUnreachable WorkerState = "UNREACHABLE"
	WorkerOffline     WorkerState = "OFFLINE"
	WorkerDeleted     WorkerState = "DELETED"
	WorkerDraining    WorkerState = "DRAINING"
	WorkerCordoned    WorkerState = "CORDONED"
)

// FleetView lists the workers that a watcher can use now.
type FleetView struct {
	// Number that grows with every change, even across restarts. Watchers ignore an older view.
	Seq     int64        `json:"seq"`
	Workers []WorkerView `json:"workers"`
	// The view contains only changes since that view; 0: a whole view. A watcher with an older one requests a whole one.
	Since int64 `json:"since,omitempty"`
	// Changed workers that the watcher cannot use. A whole view has none.
	Gone []string `json:"gone,omitempty"`
	// The registry is new, so absence from this view proves nothing. A complete view follows within [RebuildTime].
	Incomplete bool `json:"incomplete,omitempty"`
}

// RebuildTime exceeds the minute within which every living worker checks its registration.
const RebuildTime = 75 * time.Second

// WorkerView is one worker as placement needs it.
type WorkerView struct {
	ID       string      `json:"id"`
	Instance string      `json:"instance"`
	State    WorkerState `json:"state"`
	// Its heartbeat changed within three intervals. Only ONLINE and fresh workers get work.
	Fresh bool `json:"fresh"`
	// The worker deregistered while its process still beats. Its jobs are lost only when Leaving ends.
	Leaving bool `json:"leaving,omitempty"`
	// Beat changes with every observed transition to fresh. A worker that lost a job stays suspect until Beat
	// changes, or until it is still fresh three intervals after the loss.
	Beat int64 `json:"beat"`
	// CodeCannotStart while programs do not start on it: a run sends it one item at a time.
	Trouble Code `json:"trouble,omitempty"`
	// Instances that lost the id while possibly alive. Their jobs are lost and their later reports ignored.
	Fenced       []string          `json:"fenced,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Capabilities []Capability      `json:"capabilities,omitempty"`
	JobTypes     []string          `json:"job_types,omitempty"`
	Shared       []string          `json:"shared,omitempty"`
	MaxDetect    int               `json:"max_detect"`
	MaxExecute   int               `json:"max_execute"`
}

// OperateWorkerInput is an operator's action on one worker.
type OperateWorkerInput struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The worker actions.
const (
	DrainWorker    = "drain"
	CordonWorker   = "cordon"
	UncordonWorker = "uncordon"
	RemoveWorker   = "remove"
)

// Modes set by an operator to keep work from a worker.
const (
	ModeDraining = "draining"
	ModeCordoned = "cordoned"
)

// CleanupWorkersInput removes OFFLINE workers: all, or those offline longer than the deletion threshold.
type CleanupWorkersInput struct {
	AllOffline bool   `json:"all_offline"`
	By         string `json:"by,omitempty"`
}

// CleanupWorkersResult lists the removed workers.
type CleanupWorkersResult struct {
	Removed []string `json:"removed"`
}

// WorkersQueryInput filters the registry.
type WorkersQueryInput struct {
	// ID selects one worker and adds its transitions and its capabilities' descriptors.
	ID string `json:"id,omitempty"`
	// Online selects ONLINE workers only; Deleted includes deleted ones.
	Online  bool `json:"online,omitempty"`
	Deleted bool `json:"deleted,omitempty"`
}

// WorkersQueryResult answers [QueryWorkers].
type WorkersQueryResult struct {
	Workers []WorkerDetail `json:"workers"`
	// Observer is the reason why heartbeats are not observed; empty if they are.
	Observer string `json:"observer,omitempty"`
	// Incomplete: see [FleetView].
	Incomplete bool `json:"incomplete,omitempty"`
}

// HandlersQueryResult lists the registered handlers by name. Different descriptors come from different versions.
type HandlersQueryResult struct {
	Handlers []FleetHandler `json:"handlers"`
}

// FleetHandler is one descriptor and the number of workers that offer it.
type FleetHandler struct {
	Descriptor jobtype.Descriptor `json:"descriptor"`
	Workers    int                `json:"workers"`
}

// WorkerDetail is one worker as operators see it.
type WorkerDetail struct {
	Registration WorkerRegistration `json:"registration"`
	State        WorkerState        `json:"state"`
	// Set by an operator: draining, cordoned or empty. State shows it only while the worker is alive.
	Mode         string    `json:"mode,omitempty"`
	Fresh        bool      `json:"fresh"`
	Leaving      bool      `json:"leaving,omitempty"`
	RegisteredAt time.Time `json:"registered_at"`
	// Start of State, and the transition to it. An operator's drain or cordon may be older.
	Since time.Time        `json:"since,omitzero"`
	Cause WorkerTransition `json:"cause,omitzero"`
	// The operator's drain or cordon in force, also while the worker is away.
	Kept WorkerTransition `json:"kept,omitzero"`
	// Last observed change of the heartbeat by the observer's clock; a Fresh worker's last one is at most three
	// intervals ago. Skew is the worker's clock minus the observer's.
	LastBeat time.Time        `json:"last_beat,omitzero"`
	Skew     jobtype.Duration `json:"skew,omitempty"`
	// Trouble is nil while programs start on the worker.
	Trouble *WorkerTrouble `json:"trouble,omitempty"`
	// Transitions are the last ones, newest last; lists of workers omit them.
	Transitions []WorkerTransition `json:"transitions,omitempty"`
}

// WorkerTransition is one change of a worker. From equals To if something else changed.
type WorkerTransition struct {
	At   time.Time   `json:"at"`
	From WorkerState `json:"from,omitempty"`
	To   WorkerState `json:"to"`
	Code WorkerEvent `json:"code,omitempty"`
	// Start of the ended or continued condition: the last heartbeat, a silence, the time OFFLINE.
	Since time.Time `json:"since,omitzero"`
	// Process is the new holder of the id, Former the previous one.
	Process WorkerProcess `json:"process,omitzero"`
	Former  WorkerProcess `json:"former,omitzero"`
	// Mode and Caps are set by an operator: draining, cordoned or none.
	Mode string     `json:"mode,omitempty"`
	Caps WorkerCaps `json:"caps,omitzero"`
	// Note is the operator's reason.
	Note string `json:"note,omitempty"`
	By   string `json:"by,omitempty"`
	// The transition as a sentence, rendered in results only.
	Reason string `json:"reason"`
}

// WorkerEvent is the cause of a transition.
type WorkerEvent string

// The causes of transitions.
const (
	WorkerRegistered   WorkerEvent = "REGISTERED"
	WorkerReplaced     WorkerEvent = "REPLACED"
	WorkerTakenOver    WorkerEvent = "TAKEN_OVER"
	WorkerChanged      WorkerEvent = "CHANGED"
	WorkerSilent       WorkerEvent = "SILENT"
	WorkerBack         WorkerEvent = "BACK"
	WorkerUnregistered WorkerEvent = "UNREGISTERED"
	WorkerShuttingDown WorkerEvent = "SHUTTING_DOWN"
	WorkerModeSet      WorkerEvent = "MODE_SET"
	WorkerResized      WorkerEvent = "RESIZED"
	WorkerRemoved      WorkerEvent = "REMOVED"
	WorkerExpired      WorkerEvent = "EXPIRED"
	// WorkerSuspect and WorkerCleared begin and end a [WorkerTrouble].
	WorkerSuspect WorkerEvent = "SUSPECT"
	WorkerCleared WorkerEvent = "CLEARED"
)

// WorkerEvents lists the causes.
func WorkerEvents() []WorkerEvent {
	return []WorkerEvent{
		WorkerRegistered, WorkerReplaced, WorkerTakenOver, WorkerChanged, WorkerSilent, WorkerBack, WorkerUnregistered,
		WorkerShuttingDown, WorkerModeSet, WorkerResized, WorkerRemoved, WorkerExpired, WorkerSuspect, WorkerCleared,
	}
}

// WorkerRejection is the reason why the registry refuses a request.
type WorkerRejection struct {
	Code    WorkerFault   `json:"code"`
	ID      string        `json:"id,omitempty"`
	Process WorkerProcess `json:"process,omitzero"`
	Action  string        `json:"action,omitempty"`
}

// WorkerFault is the kind of a [WorkerRejection].
type WorkerFault string

// The kinds of rejections.
const (
	WorkerUnknown       WorkerFault = "NOT_REGISTERED"
	WorkerActionUnknown WorkerFault = "UNKNOWN_ACTION"
	WorkerAlive         WorkerFault = "ALIVE"
	WorkerDeparted      WorkerFault = "UNREGISTERED"
)

// GiveUpInput is the argument of GiveUpActivity, which fails an activity of a lost worker with [FailureWorkerLost].
// The server then refuses further reports. An ended activity stays.
type GiveUpInput struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
	// Worker and Reason are for operators.
	Worker string `json:"worker"`
	Reason string `json:"reason"`
}

// EnsureFleetInput starts a missing fleet and subscribes Watch, if any, in the same step.
type EnsureFleetInput struct {
	Watch *WatchFleetInput `json:"watch,omitempty"`
}
