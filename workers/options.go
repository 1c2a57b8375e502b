package workers

import (
	"cmp"
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
	// DefaultDrainTimeout is below the 90 s that systemd gives a service.
	DefaultDrainTimeout = 30 * time.Second
	// DefaultLinger is twice the time in which runs receive a deregistration in a fleet of some dozen workers.
	DefaultLinger = time.Second
	// DefaultCheckInterval is the default of [NodeOptions.CheckInterval].
	DefaultCheckInterval = time.Minute
)

// maxSlots is above the polls that are useful in one process.
const maxSlots = 10_000

// outboxMaxWait bounds the wait of a start for the last process's outcomes.
const outboxMaxWait = 5 * time.Second

// reportTime is the time for the last reports after the last handler has ended.
const reportTime = 3 * time.Second

// NodeOptions describe one node worker.
type NodeOptions struct {
	// ID identifies the worker for the life of the node. If empty, it is generated once and stored in DataDir.
	ID string
	// DataDir stores the id and undelivered outcomes; it belongs to this node. If empty, ID is required, outcomes are
	// lost with the process, and a crashed worker's id is free only after its heartbeat is stale.
	DataDir string
	// Labels are matched with those of proposals.
	Labels   map[string]string
	Handlers []jobtype.Handler
	// JobTypes restricts the worker to these job types; empty means all of its handlers.
	JobTypes []string
	// Shared lists the job types whose shared queue the worker pulls.
	Shared []string
	// Bounds of concurrent work over all handlers and queues. 0 means the default.
	MaxDetect  int
	MaxExecute int
	// DrainTimeout is the time for which Stop lets jobs continue. If negative, they are handed back at once.
	DrainTimeout time.Duration
	// Linger is the time for which Stop refuses tasks that still arrive. If negative, it is 0.
	Linger time.Duration
	// CancelGrace is the time for a canceled handler to end.
	CancelGrace time.Duration
	// CheckInterval is the pause between checks of the registration.
	CheckInterval time.Duration
	// Namespace of the client; default "default".
	Namespace string
	// HeartbeatInterval is the interval of the client's heartbeats. If it is too long or 0, the node beats itself.
	HeartbeatInterval time.Duration
	// ExitWhenIdle ends the node with [ErrIdle] after that time without work; 0 means never.
	ExitWhenIdle time.Duration
	// TakeOver fences a live worker of the same id instead of being refused.
	TakeOver bool
	// Version is shown by the registry.
	Version string
	Logger  *slog.Logger
}

// WithDefaults fills empty fields.
func (o NodeOptions) WithDefaults() NodeOptions {
	o.MaxDetect = cmp.Or(o.MaxDetect, DefaultMaxDetect)
	o.MaxExecute = cmp.Or(o.MaxExecute, DefaultMaxExecute)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, DefaultDrainTimeout)
	o.DrainTimeout = max(o.DrainTimeout, 0)
	o.Linger = cmp.Or(o.Linger, DefaultLinger)
	o.CancelGrace = cmp.Or(o.CancelGrace, jobs.DefaultCancelGrace)
	o.CheckInterval = cmp.Or(o.CheckInterval, DefaultCheckInterval)
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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
		descriptor := handler.Descriptor()
		if err := descriptor.Validate(); err != nil {
			faults = append(faults, err)
		}
		name := descriptor.Name
		if seen[name] {
			faults = append(faults, fmt.Errorf("two handlers are named %q", name))
		}
		seen[name] = true
	}
	return faults
}

// clone copies the fields that the caller may still change.
func (o NodeOptions) clone() NodeOptions {
	o.Labels = maps.Clone(o.Labels)
	o.Handlers = slices.Clone(o.Handlers)
	o.JobTypes = slices.Clone(o.JobTypes)
	o.Shared = slices.Compact(slices.Sorted(slices.Values(o.Shared)))
	return o
}
