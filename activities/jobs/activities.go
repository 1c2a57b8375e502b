package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// DefaultCancelGrace is the time after which a canceled handler counts as a zombie. It is between the 10 s from
// SIGTERM to SIGKILL of the command handler, and the margin from a job's timeout to the server's.
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
	// Runs return the common part of jobs if this process lacks it. If nil, such a job fails.
	Runs Runs
	// Outbox stores outcomes that the server did not accept at once. If nil, they are lost when the process ends.
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
	o.CancelGrace = cmp.Or(o.CancelGrace, DefaultCancelGrace)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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

// Activities are the activities of one node worker: contract.DetectActivity and contract.ExecuteActivity.
type Activities struct {
	options     Options
	descriptors map[string]jobtype.Descriptor
	commons     *Commons

	// intake ends when no handler may continue, life when undelivered outcomes are abandoned.
	intake, life       context.Context //nolint:containedctx // life cycles of the component, not of one call
	endIntake, endLife context.CancelCauseFunc

	mu      sync.Mutex
	running map[*attempt]struct{}
	logs    *joblog.Store
	began   time.Time
	ended   time.Time
	sent    []sentOutcome
	unkept  atomic.Int64
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

// Drain cancels every handler with [jobtype.ErrDraining], and refuses new attempts. The jobs are handed back with
// their last checkpoint.
func (a *Activities) Drain() { a.endIntake(jobtype.ErrDraining) }

// Fence is Drain after another instance took the id: [jobtype.ErrLeaseLost], and nothing is reported.
func (a *Activities) Fence() { a.endIntake(jobtype.ErrLeaseLost) }

// Abandon gives up deliveries at the very end: the next process delivers those in the outbox.
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
	// Orphaned: the server ended the activity while it was away, and the run has not adopted the attempt yet.
	Orphaned bool
	// Ending means that the handler's context was canceled.
	Ending bool
	// Zombie means that the handler ignores its canceled context.
	Zombie bool
	// Reporting means that the handler has ended and the outcome is undelivered.
	Reporting bool
	// The handler's last report (Percent negative if unknown); ReportedAt is its last sign of life.
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
	return lists.Count(a.Running(), func(running Running) bool { return running.Zombie })
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
