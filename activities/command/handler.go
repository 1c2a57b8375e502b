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
	// Environ returns the inherited environment. Default: the process's own. TEMPORAL_* and ROUNDSMAN_* are never
	// inherited: they hold the worker's credentials and identity.
	Environ func() []string
	// Shim is the command line of a process that links this package, usually the worker's with [ShimArgument].
	// Without it, or outside Linux, only the process group of a program is ended.
	Shim []string
	// OutputGrace is how long a leftover process may hold the pipes open in silence. Default 2s.
	OutputGrace time.Duration
	// EndWait is the wait for an earlier program of the job before the job is placed elsewhere. Default 30s.
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
	// maxSurplus is how many proposals are counted beyond the group's last one, before the program is stopped.
	maxSurplus int

	mu      sync.Mutex
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

// PrepareNode implements [jobtype.NodePreparer]: it ends the programs of an earlier process and starts its owed hooks.
func (h *Handler) PrepareNode(ctx context.Context, workerID, dir string) error {
	opened, err := again(ctx, func() (*ledger, error) { return openLedger(dir) })
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.ledgers[workerID] = opened
	h.mu.Unlock()
	stuck, err := opened.endLeftovers(ctx)
	return errors.Join(stuck, err, h.payOwed(ctx, workerID, opened, err == nil))
}

func (h *Handler) ledger(workerID string) *ledger {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ledgers[workerID] == nil {
		h.ledgers[workerID] = newLedger()
	}
	return h.ledgers[workerID]
}

// Descriptor implements [jobtype.Handler]. A program that waits longer than stall_timeout needs liveness `process`.
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
