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

// DefaultCancelGrace is how long a handler may take to end after its context
// was canceled before it counts as a zombie. Above the 10 s that the command
// handler gives a program between SIGTERM and SIGKILL, below the margin that
// groups leave between a job's timeout and the server's.
const DefaultCancelGrace = 12 * time.Second

// Options of [New].
type Options struct {
	// Handlers by the name in their descriptor.
	Handlers map[string]jobtype.Handler
	// WorkerID and Instance name this worker in jobs, beats and outcomes.
	WorkerID string
	Instance string
	// WorkerLabels are those of this worker.
	WorkerLabels map[string]string
	// Server is where beats and outcomes go, Pages where proposals go; see
	// [NewServer].
	Server Server
	Pages  Pages
	// Runs are asked what their jobs have in common, if this process lacks it. Nil: a
	// job that does not bring it fails.
	Runs Runs
	// Outbox keeps outcomes that the server did not take at once. Nil: an
	// outcome that cannot be delivered before the process ends is lost.
	Outbox *Outbox
	// Outputs keeps what jobs print on the disk. Nil: only in memory, until the process ends.
	Outputs *joblog.Archive
	// CancelGrace defaults to DefaultCancelGrace.
	CancelGrace time.Duration
	// Logger defaults to none.
	Logger *slog.Logger
}

// WithDefaults fills what is empty.
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

// Activities are the activities of one node worker. Register Detect as
// contract.DetectActivity and Execute as contract.ExecuteActivity.
type Activities struct {
	options     Options
	descriptors map[string]jobtype.Descriptor
	commons     *Commons

	// intake ends when no handler may continue; its cause tells why. life ends
	// when undelivered outcomes are given up.
	intake, life       context.Context //nolint:containedctx // life cycles of the component, not of one call
	endIntake, endLife context.CancelCauseFunc

	mu      sync.Mutex
	running map[*attempt]struct{}
	// logs are what jobs print.
	logs *joblog.Store
	// began is the start of the process.
	began time.Time
	// ended is when the last attempt ended.
	ended time.Time
	// sent are the last outcomes that went by signal, oldest first.
	sent []sentOutcome
	// unkept counts outcomes that are not taken and in no outbox.
	unkept atomic.Int64
}

// New checks the options and returns the activities.
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

// Drain asks every running handler to end with cause [jobtype.ErrDraining], and
// refuses what still arrives; their jobs are handed back with the last
// checkpoint. Repeating it does nothing.
func (a *Activities) Drain() { a.endIntake(jobtype.ErrDraining) }

// Fence is Drain for a worker that was replaced by another instance of its id:
// the cause is [jobtype.ErrLeaseLost] and nothing is reported.
func (a *Activities) Fence() { a.endIntake(jobtype.ErrLeaseLost) }

// Abandon gives up on outcomes that the server has not taken; what is in the
// outbox is delivered by the next process. It also lets activities return whose
// handlers are zombies. For the very end of a worker's life.
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
	// Detection: it detects, and JobID names the detection.
	Detection bool
	// Orphaned: the server gave the activity up while it was away, and the run has
	// not adopted the attempt yet.
	Orphaned bool
	// Ending: the handler was asked to end.
	Ending bool
	// Zombie: the handler ignores its canceled context.
	Zombie bool
	// Reporting: the handler has ended and the server has not yet taken the
	// outcome.
	Reporting bool
	// Percent (negative if unknown), Stage and Message are what the handler last
	// reported; ReportedAt is its last sign of life.
	Percent        float64
	Stage, Message string
	ReportedAt     time.Time
}

// Running lists what runs right now, in no particular order.
func (a *Activities) Running() []Running {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Running, 0, len(a.running))
	for attempt := range a.running {
		list = append(list, attempt.describe())
	}
	return list
}

// IdleSince reports that nothing runs, and since when; zero: nothing ever ran.
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
