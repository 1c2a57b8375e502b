package jobtypetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/roundsman/roundsman/jobtype"
)

// Report is one call of [jobtype.Progress.Report].
type Report struct {
	Percent float64
	Stage   string
	Message string
}

// Recorder is a [jobtype.Progress] that keeps all calls in order. It is safe for concurrent use.
type Recorder struct {
	// Called inside the handler's own call with the number of such calls so far (from 1). Set them first.
	OnReport     func(n int, report Report)
	OnAlive      func(n int)
	OnCheckpoint func(n int, checkpoint json.RawMessage)

	mu          sync.Mutex
	reports     []Report
	alive       int
	checkpoints []json.RawMessage
}

var _ jobtype.Progress = (*Recorder)(nil)

// Report implements [jobtype.Progress].
func (r *Recorder) Report(percent float64, stage, message string) {
	report := Report{Percent: percent, Stage: stage, Message: message}
	r.mu.Lock()
	r.reports = append(r.reports, report)
	n := len(r.reports)
	r.mu.Unlock()
	if r.OnReport != nil {
		r.OnReport(n, report)
	}
}

// Alive implements [jobtype.Progress].
func (r *Recorder) Alive() {
	r.mu.Lock()
	r.alive++
	n := r.alive
	r.mu.Unlock()
	if r.OnAlive != nil {
		r.OnAlive(n)
	}
}

// Checkpoint implements [jobtype.Progress] with its size limit.
func (r *Recorder) Checkpoint(v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("checkpoint cannot be encoded: %w", err)
	}
	if len(encoded) > jobtype.MaxCheckpointBytes {
		return fmt.Errorf("checkpoint has %d bytes, the limit is %d", len(encoded), jobtype.MaxCheckpointBytes)
	}
	r.mu.Lock()
	r.checkpoints = append(r.checkpoints, encoded)
	n := len(r.checkpoints)
	r.mu.Unlock()
	if r.OnCheckpoint != nil {
		r.OnCheckpoint(n, encoded)
	}
	return nil
}

// Reports returns all reports so far.
func (r *Recorder) Reports() []Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reports)
}

// AliveCount returns how often Alive was called.
func (r *Recorder) AliveCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alive
}

// Checkpoints returns all checkpoints so far.
func (r *Recorder) Checkpoints() []json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.checkpoints)
}

// LastCheckpoint returns the checkpoint for the next attempt ([jobtype.Job.Checkpoint]).
func (r *Recorder) LastCheckpoint() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.checkpoints) == 0 {
		return nil
	}
	return r.checkpoints[len(r.checkpoints)-1]
}
