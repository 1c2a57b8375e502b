package group

import (
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
)

// State is the state of a job.
type State = openjobs.State

// job is a proposal, or a batch of them, with its data besides the engine's item.
type job = openjobs.Job

// The states of a job.
const (
	StatePending    = openjobs.StatePending
	StateRunning    = openjobs.StateRunning
	StateRecalling  = openjobs.StateRecalling
	StateHeld       = openjobs.StateHeld
	StateCompleted  = openjobs.StateCompleted
	StateWarning    = openjobs.StateWarning
	StateFailed     = openjobs.StateFailed
	StateCanceled   = openjobs.StateCanceled
	StateStale      = openjobs.StateStale
	StateExpired    = openjobs.StateExpired
	StateNotStarted = openjobs.StateNotStarted
)

// item returns the item of a job for the engine.
func (c Config) item(j *job) run.Item {
	p := &j.Proposal
	return run.Item{
		ID: j.N, Work: theWork, Order: -int64(p.Priority.Rank()),
		Want:      run.Want{Node: p.Node, Labels: p.Labels, Nowhere: c.runsDAG(p)},
		Needs:     run.Needs{Pools: p.Resources, Exclusive: p.Exclusive, Shared: p.Shared},
		NotBefore: p.NotBefore, ExpiresAt: p.ExpiresAt, Estimate: p.EstimatedRuntime.Std(), Bytes: j.Bytes(),
		Checkpoint: j.Checkpoint, Done: j.Done,
	}
}
