package dispatch

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// State is the state of a job.
type State string

// The states of a job. A job that waits for a retry is pending again; one whose
// worker was lost is recalling while its outcome may still be delivered, and
// held while on_worker_loss hold waits for that worker.
const (
	StatePending    State = "pending"
	StateRunning    State = "running"
	StateRecalling  State = "recalling"
	StateHeld       State = "held"
	StateCompleted  State = "completed"
	StateFailed     State = "failed"
	StateCanceled   State = "canceled"
	StateStale      State = "stale"
	StateExpired    State = "expired"
	StateNotStarted State = "not_started"
)

// Final reports whether a job in this state is done with.
func (s State) Final() bool {
	switch s {
	case StateCompleted, StateFailed, StateCanceled, StateStale, StateExpired, StateNotStarted:
		return true
	case StatePending, StateRunning, StateRecalling, StateHeld:
	}
	return false
}

type job struct {
	N        int              `json:"n"`
	Proposal jobtype.Proposal `json:"p"`
	State    State            `json:"s"`
	// BatchKey is the batch that it belongs to. Items are the proposals that it
	// stands for where there are several; Proposal then says what they share.
	BatchKey string              `json:"bk,omitempty"`
	Items    []jobtype.BatchItem `json:"it,omitempty"`
	// Attempt counts the attempts started, Retries those after a failure,
	// Losses those after a lost worker.
	Attempt int `json:"a,omitempty"`
	Retries int `json:"r,omitempty"`
	Losses  int `json:"l,omitempty"`
	// Worker runs the job or ran it last.
	Worker   string `json:"w,omitempty"`
	Instance string `json:"i,omitempty"`
	// Avoid is the worker on which it failed last.
	Avoid string `json:"v,omitempty"`
	// ReadyAt is when it may start at the earliest; QueuedAt when it last
	// became able to start, but for a worker.
	ReadyAt  time.Time `json:"ra,omitzero"`
	QueuedAt time.Time `json:"qa,omitzero"`
	// WaitsAt is when it began to wait for a time to come or a worker to return.
	WaitsAt    time.Time       `json:"wa,omitzero"`
	Checkpoint json.RawMessage `json:"c,omitempty"`
	// Done is how much of it the checkpoint stands for, in percent; 0: unknown.
	Done      float64   `json:"dn,omitempty"`
	StartedAt time.Time `json:"sa,omitzero"`
	EndedAt   time.Time `json:"ea,omitzero"`
	// Canceling is why its running attempt was asked to end, or why it is not
	// begun once its key is claimed.
	Canceling string `json:"x,omitempty"`
	Error     string `json:"e,omitempty"`
	// Heard is the attempt whose end its worker has told, Counted the one whose
	// failure was counted.
	Heard   int `json:"h,omitempty"`
	Counted int `json:"ct,omitempty"`
	// Losing is the attempt that is being ended because its worker is given up.
	Losing int `json:"lo,omitempty"`
	// lost is the ending that is counted when the recall grace is over.
	Lost Ending `json:"lost,omitzero"`
	// Ran: an attempt really ran, so that expires_at does not matter any more.
	Ran bool `json:"ran,omitempty"`
	// Pin is the worker that a held job waits for.
	Pin string `json:"pin,omitempty"`
	// Door says whether the job has the resources it needs, Ask counts how often
	// it asked. Fence is the last fence given of its own grant, FenceEnd the last
	// that may be.
	Door     door  `json:"d,omitempty"`
	Ask      int   `json:"k,omitempty"`
	Fence    int64 `json:"f,omitempty"`
	FenceEnd int64 `json:"fe,omitempty"`
	// Sent is the fence of its last attempt.
	Sent int64 `json:"sf,omitempty"`
	// Barred is why it is not tried again.
	Barred string `json:"b,omitempty"`
	// AskedAt is when it asked last.
	AskedAt time.Time `json:"ka,omitzero"`
	// Late: it does not fit before the window closes. Resumed: its attempt went on
	// from a checkpoint. Stopped: only the group's end kept it from being
	// done.
	Late    bool `json:"lt,omitempty"`
	Resumed bool `json:"rs,omitempty"`
	Stopped bool `json:"st,omitempty"`
	// Cuts is how often in a row the end of its window stopped it without a new
	// checkpoint.
	Cuts int `json:"cu,omitempty"`
	// queued: it is in the queue of its class.
	queued bool
	// counted: it is one of the group's doors.
	counted bool
}

// isDAG reports whether the job is the run of a DAG. Such a job has no worker.
func (j *job) isDAG() bool { return j.Proposal.DAG != "" }

// timeout is how long an attempt may take: execution_timeout, raised by the
// proposal's estimate up to its cap.
func (j *job) timeout(p jobtype.Policy) time.Duration {
	estimate := min(j.Proposal.EstimatedRuntime, jobtype.MaxEstimatedRuntime)
	return max(p.ExecutionTimeout, estimate).Std()
}

// finish moves a job into a final state and counts it there.
func (g *Group) finish(j *job, state State, message string, now time.Time) {
	if j.State.Final() {
		return
	}
	g.noteFinal(j, state, message)
	g.unpark(j)
	g.leaveFlight(j)
	g.leaveDoor(j)
	j.State, j.EndedAt, j.Error = state, now, clip(message)
	g.keepOrForget(j, now)
	j.Checkpoint, j.Lost, j.Sent = nil, Ending{}, 0
	g.open--
	g.noteEnding(j, now)
	switch state {
	case StateCompleted:
		g.counts.Completed++
		if j.Worker != "" { // A DAG has none.
			g.byWorker[j.Worker]++
		}
	case StateFailed:
		g.counts.Failed++
	case StateCanceled:
		g.counts.Canceled++
	case StateStale:
		g.counts.Stale++
	case StateExpired:
		g.counts.Expired++
	case StateNotStarted:
		g.counts.NotStarted++
	case StatePending, StateRunning, StateRecalling, StateHeld:
	}
}

// leaveFlight gives back what a running or recalled attempt occupied.
func (g *Group) leaveFlight(j *job) {
	if j.State != StateRunning && j.State != StateRecalling {
		return
	}
	g.inFlight--
	g.workers.Release(j.Worker, j.Instance, g.cfg.Handler)
	g.queue.unblock()
}

// enqueue makes a job pending; it starts at readyAt at the earliest.
func (g *Group) enqueue(j *job, readyAt, now time.Time) {
	g.leaveFlight(j)
	j.State, j.Canceling = StatePending, ""
	j.ReadyAt = readyAt
	if readyAt.After(now) || j.Door == doorAsked || j.Fence >= j.FenceEnd {
		g.leaveDoor(j)
	}
	g.countDoor(j)
	if at := j.Proposal.ExpiresAt; !at.IsZero() && !j.Ran {
		g.timers.push(timer{at: at, kind: timerExpire, job: j.N})
	}
	if !g.fits(j, latestOf(readyAt, now)) {
		g.park(j, now)
		return
	}
	if readyAt.After(now) {
		j.WaitsAt = now
		g.timers.push(timer{at: readyAt, kind: timerReady, job: j.N})
		return
	}
	j.QueuedAt, j.queued = now, true
	g.queue.push(j)
}

func clip(message string) string {
	if len(message) <= maxErrorBytes {
		return message
	}
	cut := maxErrorBytes
	for cut > 0 && message[cut]&0xC0 == 0x80 {
		cut--
	}
	return message[:cut] + "…"
}
