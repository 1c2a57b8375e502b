package seaweedfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

type settings interface {
	// validate returns every fault. Defaults are validated too.
	validate() error
	propose(topology plan.Topology, in jobtype.DetectInput, now time.Time) []jobtype.Proposal
	work(topology plan.Topology) (steps.Job, uint32, error)
}

type leaver interface {
	left(topology plan.Topology, now time.Time) []plan.Left
}

type noteReader interface {
	readNotes(notes map[uint32]plan.Note)
}

type kind struct {
	name, help string
	schema     []byte
	policy     jobtype.Policy
	interval   time.Duration
	fresh      func() settings // with defaults
	batches    bool
	// together is the number of concurrent items of a batch.
	together func(settings) int
}

type handler struct {
	kind
	clusterUser
	connections *Connections
	now         func() time.Time
}

var (
	_ jobtype.Handler           = (*handler)(nil)
	_ jobtype.SettingsValidator = (*handler)(nil)
)

// New returns all handlers of the package, over one set of connections.
func New(connections *Connections, runner *command.Runner) []jobtype.Handler {
	handlers := []jobtype.Handler{newScript(connections, runner)}
	for _, k := range []kind{vacuumKind(), balanceKind(), encodeKind(), ecBalanceKind()} {
		handlers = append(handlers, &handler{kind: k, connections: connections, now: time.Now})
	}
	return handlers
}

// Descriptor implements [jobtype.Handler].
func (h *handler) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: h.name, Help: h.help, Params: h.schema, DefaultPolicy: h.policy, DefaultInterval: jobtype.Duration(h.interval), Batches: h.batches}
}

// ValidateSettings implements [jobtype.SettingsValidator].
func (h *handler) ValidateSettings(params, detect, execute json.RawMessage) error {
	if len(detect) > 0 || len(execute) > 0 {
		return fmt.Errorf("the %s handler takes no `detect:` and no `execute:` block, only params", h.name)
	}
	_, err := h.read(params)
	return err
}

func (h *handler) read(params json.RawMessage) (settings, error) {
	s := h.fresh()
	return s, readParams(params, s)
}

func readParams(params json.RawMessage, into interface{ validate() error }) error {
	if len(bytes.TrimSpace(params)) > 0 && string(params) != "null" {
		decoder := json.NewDecoder(bytes.NewReader(params))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			return fmt.Errorf("params: %w", err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return errors.New("params: more than one JSON value")
		}
	}
	return into.validate()
}

// Detect implements [jobtype.Handler].
func (h *handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	s, err := h.read(in.Params)
	if err != nil {
		return jobtype.Permanent(err)
	}
	cluster, err := h.connections.of(in.Cluster)
	if err != nil {
		return err
	}
	topology, err := cluster.Topology(ctx)
	if err != nil {
		return fmt.Errorf("UNREACHABLE: no master gives the topology: %w", err)
	}
	if reader, ok := s.(noteReader); ok {
		notes, err := cluster.Notes(ctx)
		if err != nil {
			jobtype.Explain(out, "no filer returns the notes of unfinished moves: "+err.Error())
		}
		reader.readNotes(notes)
	}
	proposals := s.propose(topology, in, h.now())
	if l, ok := s.(leaver); ok && len(proposals) == 0 {
		explain(out, l.left(topology, h.now()))
	}
	for start := 0; start < len(proposals); start += pageSize {
		if err := out.Emit(ctx, proposals[start:min(start+pageSize, len(proposals))]...); err != nil {
			return err
		}
	}
	return nil
}

const pageSize = 100

// Execute implements [jobtype.Handler].
func (h *handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	cluster, err := h.connections.of(job.Cluster)
	if err != nil {
		return jobtype.Result{}, err
	}
	items := job.Items()
	shared := newShared(progress, job, len(items))
	limit := 1
	results := make([]error, len(items))
	var running sync.WaitGroup
	parsed := make([]settings, len(items))
	for i, item := range items {
		if parsed[i], err = h.read(item.Params); err != nil {
			return jobtype.Result{}, jobtype.Permanent(err)
		}
		if h.together != nil {
			limit = max(limit, h.together(parsed[i]))
		}
	}
	slots := make(chan struct{}, limit)
	for i := range items {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i] = h.one(ctx, cluster, parsed[i], job, shared)
		})
	}
	running.Wait()
	if err := joinResults(results); err != nil {
		return jobtype.Result{}, err
	}
	return shared.result(), nil
}

// joinResults is permanent only if no item is worth another attempt.
func joinResults(results []error) error {
	joined := errors.Join(results...)
	for _, err := range results {
		if err != nil && !jobtype.IsPermanent(err) && jobtype.IsPermanent(joined) {
			return errors.New(joined.Error())
		}
	}
	return joined
}

func (h *handler) one(ctx context.Context, cluster *connection, s settings, job jobtype.Job, shared *shared) error {
	topology, err := cluster.Topology(ctx)
	if err != nil {
		return fmt.Errorf("UNREACHABLE: no master gives the topology: %w", err)
	}
	work, volume, err := s.work(topology)
	if err != nil {
		return err
	}
	checkpoint := shared.checkpoint(volume)
	if job.Attempt > 1 || len(checkpoint) > 0 {
		if err := steps.Resume(work, checkpoint); err != nil {
			return err
		}
	}
	w := &walk{
		cluster: cluster, work: work, volume: volume, alive: shared.progress.Alive,
		report: shared.report, keep: func(j steps.Job) error { return shared.keep(volume, j) },
	}
	end, err := w.run(ctx)
	if err != nil {
		return err
	}
	shared.ended(volume, end)
	return endError(volume, end)
}
