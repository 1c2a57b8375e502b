package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	maxStageBytes   = 100
	maxMessageBytes = 500
)

// progress implements [jobtype.Progress]: it stores the last report for the next beat.
type progress struct {
	mu                sync.Mutex
	beat              contract.Heartbeat
	reported, changed time.Time
	// settled is nil while the work has not ended by itself.
	settled *outcome

	// log receives the handler's output; nil for a detection.
	log *joblog.Log
}

// outcome has the results of a handler.
type outcome struct {
	result jobtype.Result
	err    error
}

// Settle implements [jobtype.Settler].
func (p *progress) Settle(result jobtype.Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = &outcome{result, err}
}

func (p *progress) outcome() *outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled
}

// Log implements [jobtype.Logger].
func (p *progress) Log() io.Writer {
	if p.log == nil {
		return io.Discard
	}
	return p.log
}

// KeepOutput implements [jobtype.OutputKeeper].
func (p *progress) KeepOutput(policy jobtype.OutputPolicy) {
	if p.log != nil {
		p.log.Keep(policy)
	}
}

// KeepArtifact implements [jobtype.ArtifactKeeper].
func (p *progress) KeepArtifact(name string, content io.Reader, fault error) error {
	if p.log == nil {
		return nil
	}
	return p.log.Attach(name, content, fault)
}

func newProgress(worker string, checkpoint json.RawMessage, now time.Time) *progress {
	return &progress{
		beat:     contract.Heartbeat{Percent: -1, At: now.UTC(), Checkpoint: checkpoint, Worker: worker},
		reported: now,
		changed:  now,
	}
}

// Report implements [jobtype.Progress].
func (p *progress) Report(percent float64, stage, message string) {
	percent, stage, message = boundReport(percent, stage, message)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.alive()
	if p.beat.Percent != percent || p.beat.Stage != stage || p.beat.Message != message {
		p.changed = now
		p.beat.Percent, p.beat.Stage, p.beat.Message = percent, stage, message
	}
}

func boundReport(percent float64, stage, message string) (float64, string, string) {
	if math.IsNaN(percent) || percent < 0 {
		percent = -1
	}
	return min(percent, 100), head(stage, maxStageBytes), head(message, maxMessageBytes)
}

// Alive implements [jobtype.Progress].
func (p *progress) Alive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alive()
}

// Checkpoint implements [jobtype.Progress].
func (p *progress) Checkpoint(v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("checkpoint cannot be encoded as JSON: %w", err)
	}
	if err := CheckCheckpoint(encoded); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.alive()
	if !bytes.Equal(p.beat.Checkpoint, encoded) {
		p.changed, p.beat.Checkpoint = now, encoded
		p.beat.Done = max(p.beat.Percent, 0)
	}
	return nil
}

func (p *progress) alive() time.Time {
	now := time.Now()
	p.reported, p.beat.At = now, now.UTC()
	return now
}

func (p *progress) snapshot() (beat contract.Heartbeat, reported, changed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beat, p.reported, p.changed
}

func head(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(text, "")
}

func tail(text string, limit int) string {
	if len(text) > limit {
		text = text[len(text)-limit:]
	}
	return strings.ToValidUTF8(text, "")
}
