package run

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/needs"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/internal/engine/run/losses"

	"github.com/roundsman/roundsman/jobtype"
)

// Item is a piece of work that a source offers.
type Item = attempt.Item

// Want restricts the workers of an item.
type Want = attempt.Want

// Needs are resources that an item holds from before its attempt until its end.
type Needs = needs.Needs

// Work is the common part of the items of one kind. A source may replace it while items wait.
type Work struct {
	Handler string
	// JobType excludes workers that do not serve it; if empty, no job type.
	JobType string
	Policy  jobtype.Policy
	// Bytes is the size of the common part of an attempt's input.
	Bytes int
	// PerWorker caps the attempts on one worker; 0 means no cap.
	PerWorker int
}

// Retry is the rule for retries of a failed item.
type Retry = attempt.Retry

// Phase is the activity of an item that has not settled.
type Phase uint8

// The phases of an item.
const (
	PhaseNone    Phase = iota
	PhaseWaiting       // for its time: not_before, or a retry's back-off
	PhaseQueued        // for a worker
	PhaseAsking        // for its resources
	PhaseGranted       // for the source's [Engine.Proceed]
	PhaseRunning
	PhaseGrace // its worker was lost, the outcome may still be delivered
	PhaseLost  // on_worker_loss hold: for the worker that lost it
	PhaseLate  // it does not end before the window closes
	PhaseDue   // for the source's [Engine.Proceed], after a deferral
)

// State is the end of an item.
type State uint8

// The states in which an item settles.
const (
	Open State = iota // it has not settled
	Completed
	Failed
	Stale
	Canceled
	Expired
	NotStarted
)

type item struct {
	Item

	// Requeues counts consecutive attempts that a busy id kept from starting.
	Retries  int         `json:"r,omitempty"`
	Requeues int         `json:"rq,omitempty"`
	Losses   losses.List `json:"ls,omitempty"`
	// Worker runs the item or ran it last; Instance is empty if no slot is taken.
	Worker   string `json:"wk,omitempty"`
	Instance string `json:"in,omitempty"`
	// Avoid is the worker of its last failure. Pin is the worker of a lost item until an attempt has run there.
	Avoid string `json:"v,omitempty"`
	Pin   string `json:"pin,omitempty"`
	// Earliest start, start of the wait for a worker, start of any other wait.
	ReadyAt   time.Time `json:"ra,omitzero"`
	QueuedAt  time.Time `json:"qa,omitzero"`
	WaitsAt   time.Time `json:"wa,omitzero"`
	StartedAt time.Time `json:"sa,omitzero"`
	// CancelBy is the end of the wait for a canceled attempt.
	Canceling string    `json:"x,omitempty"`
	CancelBy  time.Time `json:"xb,omitzero"`
	// Cuts counts consecutive ends by the run's own end without a new checkpoint.
	Cuts  int    `json:"cs,omitempty"`
	Error string `json:"e,omitempty"`
	// Attempts whose end was reported, that cost a retry, and that are ended in their worker's place.
	Reported  int `json:"rp,omitempty"`
	Charged   int `json:"ch,omitempty"`
	Abandoned int `json:"ab,omitempty"`
	// Lost is the message of a lost attempt, until the next decision about it.
	Lost      string `json:"lm,omitempty"`
	Adoptions int    `json:"ad,omitempty"`
	// The fences of a granted item are those from Fence+1 to FenceEnd.
	Ask      int   `json:"k,omitempty"`
	Fence    int64 `json:"f,omitempty"`
	FenceEnd int64 `json:"fe,omitempty"`
	Sent     int64 `json:"sf,omitempty"`
	// Lacks are the processes without its program, sorted.
	Lacks []string `json:"la,omitempty"`
	// Kind of its last ending if that deferred it, and the first such ending in a row.
	Deferral   Failure   `json:"df,omitempty"`
	DeferredAt time.Time `json:"da,omitzero"`
	Barred     string    `json:"b,omitempty"`

	class *class
	// at is the item's place in its class's heap; -1 for none.
	at int

	// Fields of one byte stand together: the run holds thousands of items.
	Phase Phase `json:"ph"`
	// Apart means that no other such attempt may run on its worker, see [item.keepsApart].
	Apart bool `json:"ap,omitempty"`
	// Announced means that the stop of its worker was announced while it ran: its loss does not count.
	Announced bool `json:"an,omitempty"`
	// Cut: the run's own end stops the attempt.
	Cut bool `json:"ct,omitempty"`
	// Retrying: the next attempt is a retry. Replacing: the next attempt replaces a lost or returned one.
	Retrying  bool `json:"ry,omitempty"`
	Replacing bool `json:"rep,omitempty"`
	// Ran means that an attempt has really run, so that ExpiresAt no longer applies.
	Ran     bool `json:"ran,omitempty"`
	Resumed bool `json:"rs,omitempty"`
	// Asking: the request has no answer. Granted: the item has its resources.
	Asking  bool `json:"q,omitempty"`
	Granted bool `json:"g,omitempty"`
	// Waits means that others hold the requested resources.
	Waits bool `json:"qw,omitempty"`
	// Aside means that it is queued in a class of its needs, see [crowd].
	Aside bool `json:"asd,omitempty"`
	// Direct overrides a shared queue.
	Direct bool `json:"di,omitempty"`
}

// Before implements [ranked.Seated].
func (it *item) Before(o *item) bool { return rankOf(it).before(rankOf(o)) }

// Seat implements [ranked.Seated].
func (it *item) Seat() *int { return &it.at }

func (it *item) requests() bool { return !it.Granted && it.Needs.Some() }

func (it *item) node() string { return cmp.Or(it.Pin, it.Want.Node) }

func (it *item) changedAt() time.Time {
	return instant.Later(instant.Later(it.QueuedAt, it.WaitsAt), it.StartedAt)
}

// inFlight reports whether an attempt runs or may still run.
func (it *item) inFlight() bool { return it.Phase == PhaseRunning || it.Phase == PhaseGrace }
