package command

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/lib/cgroup"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/jobtype"
)

// Name is the name of the handler in configurations.
const Name = "command"

var (
	//go:embed detect.schema.json
	detectOwnSchema []byte
	//go:embed execute.schema.json
	executeOwnSchema []byte

	//nolint:gochecknoglobals // constant texts
	detectSchema, executeSchema = launch.AddTo(detectOwnSchema, append(slices.Clone(launch.OfJobs), "exit_codes.permanent", "exit_codes.defer")...), launch.AddTo(executeOwnSchema)
)

// Options are the settings of the worker, as opposed to those of the job type.
type Options struct {
	// Environ returns the inherited environment. Default: the process's own environment when the program starts. Variables
	// TEMPORAL_* and ROUNDSMAN_* are never inherited: they hold the worker's credentials and identity.
	Environ func() []string
	// Shim is the command line of a process that calls [Shim] first of all, usually
	// that of the worker itself with [ShimArgument]. Every program runs below one. If it
	// is empty, or the system is not Linux, only the process group of a program is ended.
	Shim []string
	// OutputGrace is how long the pipes of a program that has ended may stay
	// open in silence, held by a process that it left behind. Default 2s.
	OutputGrace time.Duration
	// EndWait is how long an attempt waits for the end of an earlier program of its job
	// before it goes back to be placed elsewhere. Default 30s.
	EndWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.OutputGrace <= 0 {
		o.OutputGrace = 2 * time.Second
	}
	if o.EndWait <= 0 {
		o.EndWait = 30 * time.Second
	}
	return o
}

// Handler runs programs.
type Handler struct {
	options Options
	// maxSurplus is how many proposals are counted after the group took its last one.
	// A program that prints for ever is stopped then.
	maxSurplus int

	mu sync.Mutex
	// ledgers are those of the workers that this process runs, by their ids.
	ledgers map[string]*ledger
	cgroups cgroup.Tree
}

var (
	_ jobtype.Handler           = (*Handler)(nil)
	_ jobtype.SettingsValidator = (*Handler)(nil)
	_ jobtype.NodePreparer      = (*Handler)(nil)
	_ jobtype.NodeChecker       = (*Handler)(nil)
)

// New returns the handler.
func New(options Options) *Handler {
	return &Handler{options: options.withDefaults(), maxSurplus: 10_000_000, ledgers: map[string]*ledger{}}
}

// PrepareNode implements [jobtype.NodePreparer]: it ends the programs that an earlier
// process of the worker left running, starts the hooks that it owes, and notes programs from now on.
func (h *Handler) PrepareNode(ctx context.Context, workerID, dir string) error {
	opened, err := openLedger(dir)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.ledgers[workerID] = opened
	h.mu.Unlock()
	return errors.Join(opened.endLeftovers(ctx), h.payOwed(ctx, workerID, opened))
}

func (h *Handler) ledger(workerID string) *ledger {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ledgers[workerID] == nil {
		h.ledgers[workerID] = newLedger()
	}
	return h.ledgers[workerID]
}

// Descriptor implements [jobtype.Handler]. Liveness is `activity`: a program without output,
// CPU and I/O for stall_timeout hangs. A program that waits longer needs `process`.
func (h *Handler) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{
		Name:            Name,
		Help:            "Runs programs: detect prints one proposal per line, execute does one of them. Arguments are templates and never pass through a shell.",
		Params:          json.RawMessage(`{"type":"object"}`),
		DetectSettings:  detectSchema,
		ExecuteSettings: executeSchema,
		Batches:         true,
		DefaultPolicy:   jobtype.Policy{Liveness: jobtype.LivenessActivity},
	}
}
