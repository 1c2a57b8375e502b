package scrub

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Name is the name of the handler in configurations.
const Name = "scrub"

//go:embed params.schema.json
var paramsSchema []byte

// Options are settings of the worker, not of the job type.
type Options struct {
	// DataDir holds the baseline file scrub.db. Default: .roundsman in the working directory.
	DataDir string
	// Patience is the wait for a baseline file held by another process. Default 30s.
	Patience time.Duration
	// CheckpointBytes are the bytes between two checkpoints, unless a second passes first. Default 64 MiB.
	CheckpointBytes int64
	// Now is the clock of verifications. Default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.DataDir = cmp.Or(o.DataDir, ".roundsman")
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.CheckpointBytes <= 0 {
		o.CheckpointBytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Handler scrubs directory trees. The workers of a process should share one, with its open baseline.
type Handler struct {
	options Options

	mu     sync.Mutex
	stores map[string]store
}

var (
	_ jobtype.Handler           = (*Handler)(nil)
	_ jobtype.SettingsValidator = (*Handler)(nil)
)

// New returns the handler. Nothing is opened before the first detection or job.
func New(options Options) *Handler {
	return &Handler{options: options.withDefaults(), stores: map[string]store{}}
}

// Descriptor implements [jobtype.Handler]. Detection has 10m, for walks over millions of files. A job has one retry,
// because a read error may be temporary.
func (h *Handler) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{
		Name:   Name,
		Help:   "Finds bit rot: files whose content changed while their size and modification time did not. Reads every file below a directory once per reverify_after and compares its SHA-256 with the recorded one.",
		Params: paramsSchema,
		DefaultPolicy: jobtype.Policy{
			DetectionTimeout: jobtype.Duration(10 * time.Minute),
			MaxRuntime:       jobtype.Duration(2 * time.Hour),
			ExecutionTimeout: jobtype.Duration(time.Hour),
			RetryLimit:       1,
		},
	}
}

// ValidateSettings implements [jobtype.SettingsValidator].
func (h *Handler) ValidateSettings(params, detect, execute json.RawMessage) error {
	if len(detect) > 0 || len(execute) > 0 {
		return fmt.Errorf("the %s handler takes no `detect:` and no `execute:` block, only params", Name)
	}
	_, err := readParams(params)
	return err
}

// Close closes idle baseline files. The handler may be used afterwards.
func (h *Handler) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, store := range h.stores {
		store.lease.close()
	}
	return nil
}

func (h *Handler) store(p params) (store, error) {
	path := p.State
	if path == "" {
		path = filepath.Join(h.options.DataDir, "scrub.db")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return store{}, fmt.Errorf("params.state: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.stores[path]
	if !ok {
		known = store{newLease(path, h.options.Patience)}
		h.stores[path] = known
	}
	return known, nil
}
