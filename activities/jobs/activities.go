package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/jobtype"
)

// DefaultCancelGrace is the time for a handler to end after its context was canceled, before it
// counts as a zombie. It is above the 10 s that the command handler gives a program between
// SIGTERM and SIGKILL. It is below the margin between a job's timeout and the server's.
const DefaultCancelGrace = 12 * time.Second

// Options of [New].
type Options struct {
	// Handlers are keyed by the name in their descriptor.
	Handlers     map[string]jobtype.Handler
	WorkerID     string
	Instance     string
	WorkerLabels map[string]string
	// Server receives beats and outcomes, Pages receives proposals; see [NewServer].
	Server Server
	Pages  Pages
	// Runs return the common part of their jobs if this process lacks it. If nil, a job without
	// its common part fails.
	Runs Runs
	// Outbox stores outcomes that the server did not accept at once. If nil, an outcome that is
	// undelivered when the process ends is lost.
	Outbox *Outbox
	// Outputs stores the output of jobs on disk. If nil, it is only in memory.
	Outputs *joblog.Archive
	// CancelGrace defaults to DefaultCancelGrace.
	CancelGrace time.Duration
	// Logger defaults to none.
	Logger *slog.Logger
}

// WithDefaults fills empty fields.
func (o Options) WithDefaults() Options {
	if o.CancelGrace == 0 {
		o.CancelGrace = DefaultCancelGrace
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports every missing option at once.
func (o Options) Validate() error {
	var faults []error
	if err := jobtype.ValidateName(o.WorkerID); err != nil {
		faults = append(faults, fmt.Errorf("worker id: %w", err))
	}
	if o.Server == nil {
		faults = append(faults, errors.New("no server to report to: pass jobs.NewServer(client)"))
	}
	if o.Pages == nil {
		faults = append(faults, errors.New("no receiver of pages: pass jobs.NewServer(client)"))
	}
	for name, handler := range o.Handlers {
		if handler == nil || handler.Descriptor().Name != name {
			faults = append(faults, fmt.Errorf("handler %q: it must be set and registered under its descriptor's name", name))
		}
	}
	return errors.Join(faults...)
}

// Activities are the activities of one node worker. Register Detect as contract.DetectActivity
// and Execute as contract.ExecuteActivity.
type Activities struct {
	options     Options
	descriptors map[string]jobtype.Descriptor
	commons     *Commons

	// intake ends when no handler may continue; its cause is the reason. life ends when
	// undelivered outcomes are abandoned.
	intake, life       context.Context //nolint:containedctx // life cycles of the component, not of one call
	endIntake, endLife context.CancelCauseFunc

	mu      sync.Mutex
	running map[*attempt]struct{}
	logs    *joblog.Store
	began   time.Time
	ended   time.Time
	// sent are the last outcomes that went by signal, oldest first.
	sent   []sentOutcome
	unkept atomic.Int64
}

// New validates the options and returns the activities.
func New(options Options) (*Activities, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	a := &Activities{
		options:     options,
		descriptors: make(map[string]jobtype.Descriptor, len(options.Handlers)),
		running:     make(map[*attempt]struct{}),
		logs:        joblog.New(options.Outputs),
		began:       time.Now(),
		commons:     NewCommons(options.Runs),
	}
	for name, handler := range options.Handlers {
		a.descriptors[name] = handler.Descriptor()
	}
	a.intake, a.endIntake = context.WithCancelCause(context.Background())
	a.life, a.endLife = context.WithCancelCause(context.Background())
	return a, nil
}

// Drain cancels every running handler with cause [jobtype.ErrDraining], and refuses new attempts.
// The jobs are handed back with their last checkpoint. A repeat does nothing.
func (a *Activities) Drain() { a.endIntake(jobtype.ErrDraining) }

// Fence is Drain for a worker whose id another instance has taken. The cause is
// [jobtype.ErrLeaseLost] and nothing is reported.
func (a *Activities) Fence() { a.endIntake(jobtype.ErrLeaseLost) }

// Abandon gives up the delivery of outcomes; the next process delivers those in the outbox. It
// also lets activities of zombies return. It is for the very end of a worker's life.
func (a *Activities) Abandon() { a.endLife(errAbandoned) }

var errAbandoned = errors.New("the worker has ended")

// Running is one running attempt of a job or detection.
type Running struct {
	JobID     string
	GroupID   string
	JobType   string
	Handler   string
	Attempt   int
	StartedAt time.Time
	// Detection is true for a detection; JobID is its name then.
	Detection bool
	// Orphaned means that the server ended the activity while it was away, and the run has not
	// adopted the attempt yet.
	Orphaned bool
	// Ending means that the handler's context was canceled.
	Ending bool
	// Zombie means that the handler ignores its canceled context.
	Zombie bool
	// Reporting means that the handler has ended and the outcome is undelivered.
	Reporting bool
	// Percent (negative if unknown), Stage and Message are the handler's last report; ReportedAt
	// is its last sign of life.
	Percent        float64
	Stage, Message string
	ReportedAt     time.Time
}

// Running lists the running attempts, in no particular order.
func (a *Activities) Running() []Running {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Running, 0, len(a.running))
	for attempt := range a.running {
		list = append(list, attempt.describe())
	}
	return list
}

// IdleSince reports whether nothing runs, and since when; zero if nothing ever ran.
func (a *Activities) IdleSince() (since time.Time, idle bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended, len(a.running) == 0
}

// Zombies counts handlers that ignore their canceled context.
func (a *Activities) Zombies() int {
	count := 0
	for _, running := range a.Running() {
		if running.Zombie {
			count++
		}
	}
	return count
}

func (a *Activities) track(r *attempt) (untrack func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[r] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, r)
		a.ended = time.Now()
	}
}
