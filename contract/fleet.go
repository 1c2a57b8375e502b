package contract

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Messages of the fleet, the one worker registry of a namespace.
const (
	// UpdateRegisterWorker takes a WorkerRegistration and answers a
	// RegisterWorkerResult, at once. Sent with Update-with-Start, so that a
	// missing registry is created.
	UpdateRegisterWorker = "register-worker"
	// UpdateOperateWorker takes an OperateWorkerInput and answers a
	// WorkerDetail; refused for a worker that is not known.
	UpdateOperateWorker = "operate-worker"
	// UpdateCleanupWorkers takes a CleanupWorkersInput and answers a
	// CleanupWorkersResult.
	UpdateCleanupWorkers = "cleanup-workers"
	// UpdateConfigureFleet takes a FleetConfig and answers the one that was in
	// force before. The control plane sends it at boot.
	UpdateConfigureFleet = "configure-fleet"
	// SignalUnregisterWorker takes an UnregisterWorkerInput.
	SignalUnregisterWorker = "unregister-worker"
	// SignalWatchFleet and SignalUnwatchFleet take a WatchFleetInput: from then
	// on the sender gets a SignalFleetChanged after every change.
	SignalWatchFleet   = "watch-fleet"
	SignalUnwatchFleet = "unwatch-fleet"
	// SignalFleetChanged takes a FleetView. Sent by the fleet to watchers,
	// coalesced: only the newest view matters.
	SignalFleetChanged = "fleet-changed"

	// QueryFleet takes a WatchFleetInput that filters, or nothing for all
	// workers, and answers a FleetView.
	QueryFleet = "fleet"
	// QueryWorkers takes a WorkersQueryInput and answers a WorkersQueryResult.
	QueryWorkers = "workers"
	// QueryKnown takes a KnownInput and answers a bool: is exactly this
	// instance registered?
	QueryKnown = "known"
	// QueryCleanup takes a CleanupWorkersInput and answers the CleanupWorkersResult
	// that the update would.
	QueryCleanup = "cleanup"
	// QueryHandlers takes nothing and answers a HandlersQueryResult: what the
	// fleet can do, for validating a configuration.
	QueryHandlers = "handlers"
)

// Capability is one handler as one worker offers it.
type Capability struct {
	Handler string `json:"handler"`
	Detect  bool   `json:"detect"`
	Execute bool   `json:"execute"`
	// MaxDetect and MaxExecute cap it on this worker; 0: the worker's slots do.
	MaxDetect  int `json:"max_detect,omitempty"`
	MaxExecute int `json:"max_execute,omitempty"`
	// Descriptor travels with the registration only; views leave it empty.
	Descriptor *jobtype.Descriptor `json:"descriptor,omitempty"`
}

// CapabilityOf is what a worker offers that has the handler.
func CapabilityOf(d jobtype.Descriptor) Capability {
	return Capability{
		Handler: d.Name, Detect: !d.ExecuteOnly, Execute: !d.DetectOnly,
		MaxDetect: d.MaxDetectConcurrency, MaxExecute: d.MaxExecuteConcurrency, Descriptor: &d,
	}
}

// WorkerRegistration is what a worker process says about itself before it
// polls any job queue.
type WorkerRegistration struct {
	ID string `json:"id"`
	// Instance is unique to the process incarnation and part of its queues.
	Instance string            `json:"instance"`
	Host     string            `json:"host"`
	PID      int               `json:"pid"`
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	// Capabilities are its handlers.
	Capabilities []Capability `json:"capabilities"`
	// JobTypes restricts it to these job types; empty: every job type whose
	// handler it has.
	JobTypes []string `json:"job_types,omitempty"`
	// Shared lists the job types whose shared queue it pulls.
	Shared     []string `json:"shared,omitempty"`
	MaxDetect  int      `json:"max_detect"`
	MaxExecute int      `json:"max_execute"`
	// TakeOver fences a live instance of the same id instead of being refused.
	TakeOver bool `json:"take_over,omitempty"`
	// Remote: the worker works through a gateway. No process answers queries for it.
	Remote bool `json:"remote,omitempty"`
	// Resized are the caps that an operator gave it. The registry keeps them; a
	// worker repeats what it was told, in case the registry has lost it.
	Resized *WorkerCaps `json:"resized,omitempty"`
	// Kept is the operator's drain or cordon, repeated for the same reason.
	Kept *WorkerTransition `json:"kept,omitempty"`
}

// WorkerProcess is a process of a worker, for people.
type WorkerProcess struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Process is the one that registers.
func (r WorkerRegistration) Process() WorkerProcess { return WorkerProcess{Host: r.Host, PID: r.PID} }

// RegisterWorkerResult is the verdict. Refused is set when another live
// instance holds the id.
type RegisterWorkerResult struct {
	Accepted bool             `json:"accepted"`
	Refused  *RegisteredOther `json:"refused,omitempty"`
	// Settings are those of an accepted worker.
	Settings *WorkerSettings `json:"settings,omitempty"`
}

// RegisteredOther names the instance that holds the id.
type RegisteredOther struct {
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Instance string `json:"instance"`
	// Age is how long it has been registered, SinceBeat how long ago its
	// heartbeat last changed.
	Age       jobtype.Duration `json:"age"`
	SinceBeat jobtype.Duration `json:"since_beat"`
}

// Incarnation is one process of a worker.
type Incarnation struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

// UnregisterWorkerInput makes that incarnation OFFLINE at once. A newer one of
// the same id is left alone.
type UnregisterWorkerInput = Incarnation

// KnownInput is the argument of [QueryKnown] and [QuerySettings].
type KnownInput = Incarnation

// WatchFleetInput names the watching workflow. Watching again is harmless and
// repairs a subscription that was lost with a terminated fleet. A watcher whose
// workflow is gone is dropped by itself.
type WatchFleetInput struct {
	WorkflowID string `json:"workflow_id"`
	// Handler and JobType keep only workers that can serve them; empty: all.
	Handler string `json:"handler,omitempty"`
	JobType string `json:"job_type,omitempty"`
	// Seq is the view that the watcher has already: it gets what has changed since.
	// If it is the current one no view is sent until there is a newer one; 0: a whole
	// one is sent at once.
	Seq int64 `json:"seq,omitempty"`
}

// WorkerState is the life-cycle of a worker.
type WorkerState string

// The worker states. Draining and cordoned are the operator's.
const (
	WorkerOnline      WorkerState = "ONLINE"
	WorkerUnreachable WorkerState = "UNREACHABLE"
	WorkerOffline     WorkerState = "OFFLINE"
	WorkerDeleted     WorkerState = "DELETED"
	WorkerDraining    WorkerState = "DRAINING"
	WorkerCordoned    WorkerState = "CORDONED"
)

// FleetView lists the workers that a watcher can use right now.
type FleetView struct {
	// Seq grows with every change, across restarts of the registry too; an
	// older view is ignored.
	Seq     int64        `json:"seq"`
	Workers []WorkerView `json:"workers"`
	// Since: the view lists only what has changed since the view of that number. A
	// watcher whose newest view is older requests a whole one. 0: this one is whole.
	Since int64 `json:"since,omitempty"`
	// Gone are workers that have changed and that the watcher cannot use, whether it
	// ever could or not. A whole view has none.
	Gone []string `json:"gone,omitempty"`
	// Incomplete: the registry was created a moment ago, and workers that are
	// alive may not have registered with it yet. An absence from this view
	// proves nothing. A view without it follows within [RebuildTime].
	Incomplete bool `json:"incomplete,omitempty"`
}

// RebuildTime is how long a new registry calls its views incomplete at most:
// longer than the minute within which every living worker asks whether it is
// registered.
const RebuildTime = 75 * time.Second

// WorkerView is one worker as placement needs it.
type WorkerView struct {
	ID       string      `json:"id"`
	Instance string      `json:"instance"`
	State    WorkerState `json:"state"`
	// Fresh: its heartbeat changed within three intervals. Only an ONLINE and
	// fresh worker gets work.
	Fresh bool `json:"fresh"`
	// Leaving: OFFLINE because it deregistered, but its process still beats:
	// what it runs may still end or be handed back. It gets nothing new, and its
	// jobs are lost only when Leaving ends.
	Leaving bool `json:"leaving,omitempty"`
	// Beat changes with every observed transition to fresh; a worker that lost
	// a job stays suspect until it changes. Single beats are not reported: a
	// worker that is still fresh three intervals after it lost a job has beaten
	// since, even though its Beat is the same.
	Beat int64 `json:"beat"`
	// Fenced are instances that lost the id while they may still have been
	// alive (take-over, or a stale heartbeat): their jobs are lost, and whatever
	// they still report is ignored.
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
	ID string `json:"id"`
	// Action is one of the worker actions.
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

// The modes of a worker that an operator keeps from work.
const (
	ModeDraining = "draining"
	ModeCordoned = "cordoned"
)

// CleanupWorkersInput removes OFFLINE workers: all of them, or those offline
// for longer than the deletion threshold.
type CleanupWorkersInput struct {
	AllOffline bool   `json:"all_offline"`
	By         string `json:"by,omitempty"`
}

// CleanupWorkersResult names what was removed.
type CleanupWorkersResult struct {
	Removed []string `json:"removed"`
}

// WorkersQueryInput filters the registry.
type WorkersQueryInput struct {
	// ID keeps one worker, with its capabilities' descriptors and transitions.
	ID string `json:"id,omitempty"`
	// Online keeps only ONLINE ones; Deleted adds the deleted ones.
	Online  bool `json:"online,omitempty"`
	Deleted bool `json:"deleted,omitempty"`
}

// WorkersQueryResult answers [QueryWorkers].
type WorkersQueryResult struct {
	Workers []WorkerDetail `json:"workers"`
	// Observer says why the heartbeats are not observed; empty when they are.
	Observer string `json:"observer,omitempty"`
	// Incomplete: see [FleetView].
	Incomplete bool `json:"incomplete,omitempty"`
}

// HandlersQueryResult answers [QueryHandlers]: every handler that a worker
// which is not deleted has registered, by name. Different descriptors of one
// name come from different versions of a binary.
type HandlersQueryResult struct {
	Handlers []FleetHandler `json:"handlers"`
}

// FleetHandler is one descriptor and how many workers offer it.
type FleetHandler struct {
	Descriptor jobtype.Descriptor `json:"descriptor"`
	Workers    int                `json:"workers"`
}

// WorkerDetail is one worker as operators see it.
type WorkerDetail struct {
	Registration WorkerRegistration `json:"registration"`
	State        WorkerState        `json:"state"`
	// Mode is the operator's: draining, cordoned or empty. State shows it only
	// while the worker is alive.
	Mode         string    `json:"mode,omitempty"`
	Fresh        bool      `json:"fresh"`
	Leaving      bool      `json:"leaving,omitempty"`
	RegisteredAt time.Time `json:"registered_at"`
	// Since is when it became what State says; Cause is the transition that made it
	// so. That of an operator who keeps work from it may be older: it lasts while
	// the worker is away.
	Since time.Time        `json:"since,omitzero"`
	Cause WorkerTransition `json:"cause,omitzero"`
	// Kept is the operator's transition that keeps work from it, or will when it is
	// back; zero if there is none.
	Kept WorkerTransition `json:"kept,omitzero"`
	// LastBeat is when the observer last saw the heartbeat change, by the
	// observer's clock. Single beats are not reported: that of a Fresh worker
	// is at most three intervals ago, whatever LastBeat says. Skew is the
	// worker's clock minus the observer's.
	LastBeat time.Time        `json:"last_beat,omitzero"`
	Skew     jobtype.Duration `json:"skew,omitempty"`
	// Transitions are the last ones, the newest at the end; a list has none.
	Transitions []WorkerTransition `json:"transitions,omitempty"`
}

// WorkerTransition is one change of a worker. From equals To where something
// changed that is not the state, such as the process that holds the id.
type WorkerTransition struct {
	At   time.Time   `json:"at"`
	From WorkerState `json:"from,omitempty"`
	To   WorkerState `json:"to"`
	Code WorkerEvent `json:"code,omitempty"`
	// Since is when what ended or continued began: the last heartbeat, a silence, the
	// time OFFLINE.
	Since time.Time `json:"since,omitzero"`
	// Process is a new process that holds the id, Former the one that held it.
	Process WorkerProcess `json:"process,omitzero"`
	Former  WorkerProcess `json:"former,omitzero"`
	// Mode and Caps are those that an operator set: draining, cordoned or none.
	Mode string     `json:"mode,omitempty"`
	Caps WorkerCaps `json:"caps,omitzero"`
	// Note is the operator's reason.
	Note string `json:"note,omitempty"`
	By   string `json:"by,omitempty"`
	// Reason is all of it as a sentence. It is written where the registry answers
	// operators: its state has none.
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
)

// WorkerEvents lists the causes.
func WorkerEvents() []WorkerEvent {
	return []WorkerEvent{
		WorkerRegistered, WorkerReplaced, WorkerTakenOver, WorkerChanged, WorkerSilent, WorkerBack, WorkerUnregistered,
		WorkerShuttingDown, WorkerModeSet, WorkerResized, WorkerRemoved, WorkerExpired,
	}
}

// WorkerRejection is why the registry does not do as it was asked.
type WorkerRejection struct {
	Code WorkerFault `json:"code"`
	ID   string      `json:"id,omitempty"`
	// Process is the one that it is about.
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

// GiveUpInput is the argument of GiveUpActivity: end an activity whose worker is
// given up, as failed by [FailureWorkerLost]. The server hears nothing more of
// it then, and tells the worker so. One that has ended already is left alone.
type GiveUpInput struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
	// Worker and Reason are for people.
	Worker string `json:"worker"`
	Reason string `json:"reason"`
}

// EnsureFleetInput is the argument of EnsureFleetActivity: start the fleet if it
// is missing, and subscribe Watch, if given, in the same step.
type EnsureFleetInput struct {
	Watch *WatchFleetInput `json:"watch,omitempty"`
}
