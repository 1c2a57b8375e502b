package workers

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/jobtype"
)

// Defaults of [NodeOptions].
const (
	DefaultMaxDetect  = 1
	DefaultMaxExecute = 4
	// DefaultDrainTimeout is how long jobs may continue after the worker was asked
	// to stop. Below the 90 s that systemd gives a service.
	DefaultDrainTimeout = 30 * time.Second
	// DefaultLinger is twice as long as runs need to learn of a deregistration in a
	// fleet of some dozen workers.
	DefaultLinger = time.Second
	// DefaultCheckInterval is how often a worker asks whether it is still
	// registered.
	DefaultCheckInterval = time.Minute
)

// maxSlots is beyond what one process can usefully poll for.
const maxSlots = 10_000

// outboxMaxWait is how long a start waits for outcomes of the last process.
const outboxMaxWait = 5 * time.Second

// reportTime is what Stop allows for the last reports after the last handler
// has ended.
const reportTime = 3 * time.Second

// NodeOptions describe one node worker.
type NodeOptions struct {
	// ID names the worker for as long as the node exists. Empty: it is made up
	// once and kept in DataDir.
	ID string
	// DataDir keeps the id and undelivered outcomes; it belongs to this node.
	// Empty: ID must be given, an outcome that the server has not taken is lost
	// with the process, and a crashed worker's id is free only once its
	// heartbeat is stale.
	DataDir string
	// Labels are matched against those that a proposal asks for.
	Labels map[string]string
	// Handlers are what this binary can do.
	Handlers []jobtype.Handler
	// JobTypes restricts the worker to these job types; empty: all of its
	// handlers'.
	JobTypes []string
	// Shared lists the job types whose shared queue the worker pulls.
	Shared []string
	// MaxDetect and MaxExecute cap what runs at once, over all handlers and
	// queues. 0: the default; to run no detections or no jobs at all, use a
	// handler that declares it.
	MaxDetect  int
	MaxExecute int
	// DrainTimeout is how long Stop lets running jobs continue. Negative: they are
	// handed back at once.
	DrainTimeout time.Duration
	// Linger is how long Stop answers what is still sent to a worker that
	// had work in the last five seconds: that it takes nothing any more. Negative: not
	// at all.
	Linger time.Duration
	// CancelGrace is how long a canceled handler may take to end.
	CancelGrace time.Duration
	// CheckInterval is how often the worker asks whether it is still
	// registered.
	CheckInterval time.Duration
	// Namespace of the client; default "default".
	Namespace string
	// HeartbeatInterval is that of the client's heartbeats. Where the registry wants
	// them more often, or it is not given, the node beats by itself.
	HeartbeatInterval time.Duration
	// ExitWhenIdle ends the node with [ErrIdle] when it has run nothing for that long;
	// 0: never.
	ExitWhenIdle time.Duration
	// TakeOver fences a live worker of the same id instead of being refused.
	TakeOver bool
	// Version is what the registry shows.
	Version string
	// Logger defaults to none.
	Logger *slog.Logger
}

// WithDefaults fills what is empty.
func (o NodeOptions) WithDefaults() NodeOptions {
	if o.MaxDetect == 0 {
		o.MaxDetect = DefaultMaxDetect
	}
	if o.MaxExecute == 0 {
		o.MaxExecute = DefaultMaxExecute
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	o.DrainTimeout = max(o.DrainTimeout, 0)
	if o.Linger == 0 {
		o.Linger = DefaultLinger
	}
	if o.CancelGrace == 0 {
		o.CancelGrace = jobs.DefaultCancelGrace
	}
	if o.CheckInterval == 0 {
		o.CheckInterval = DefaultCheckInterval
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports every fault at once. It expects the defaults filled in.
func (o NodeOptions) Validate() error {
	faults := o.nameFaults()
	if o.ID == "" && o.DataDir == "" {
		faults = append(faults, errors.New("give the worker an id, or a data directory to keep one in"))
	}
	if len(o.Handlers) == 0 {
		faults = append(faults, errors.New("a worker without handlers has nothing to do"))
	}
	count := func(name string, value int) {
		if value < 1 || value > maxSlots {
			faults = append(faults, fmt.Errorf("%s must be between 1 and %d, not %d", name, maxSlots, value))
		}
	}
	count("max-detect", o.MaxDetect)
	count("max-execute", o.MaxExecute)
	if o.CancelGrace < 0 || o.CheckInterval < 0 {
		faults = append(faults, errors.New("cancel grace and check interval must not be negative"))
	}
	if o.ExitWhenIdle < 0 {
		faults = append(faults, errors.New("exit when idle must not be negative"))
	}
	return errors.Join(append(faults, o.handlerFaults()...)...)
}

func (o NodeOptions) nameFaults() []error {
	var faults []error
	check := func(what, name string) {
		if err := jobtype.ValidateName(name); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", what, err))
		}
	}
	if o.ID != "" {
		check("worker id", o.ID)
	}
	for _, name := range o.JobTypes {
		check("job types", name)
	}
	for _, name := range o.Shared {
		check("shared job types", name)
		if len(o.JobTypes) > 0 && !slices.Contains(o.JobTypes, name) {
			faults = append(faults, fmt.Errorf("shared job type %q is not among the worker's job types %v", name, o.JobTypes))
		}
	}
	return faults
}

func (o NodeOptions) handlerFaults() []error {
	var faults []error
	seen := map[string]bool{}
	for i, handler := range o.Handlers {
		if handler == nil {
			faults = append(faults, fmt.Errorf("handler %d is nil", i))
			continue
		}
		name := handler.Descriptor().Name
		if err := jobtype.ValidateName(name); err != nil {
			faults = append(faults, fmt.Errorf("handler %d: %w", i, err))
		}
		if seen[name] {
			faults = append(faults, fmt.Errorf("two handlers are named %q", name))
		}
		seen[name] = true
	}
	return faults
}

// clone detaches what the caller may still change.
func (o NodeOptions) clone() NodeOptions {
	o.Labels = maps.Clone(o.Labels)
	o.Handlers = slices.Clone(o.Handlers)
	o.JobTypes = slices.Clone(o.JobTypes)
	o.Shared = slices.Compact(slices.Sorted(slices.Values(o.Shared)))
	return o
}
