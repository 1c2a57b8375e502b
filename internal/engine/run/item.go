package run

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/internal/engine/needs"

	"github.com/roundsman/roundsman/jobtype"
)

// Item is a piece of work that a source offers.
type Item struct {
	// ID is unique among the items of the run that have not settled.
	ID int `json:"id"`
	// Work names the [Work] that the item belongs to.
	Work string `json:"w,omitempty"`
	Want Want   `json:"wt,omitzero"`
	// Needs are what the item must be granted before it starts.
	Needs Needs `json:"nd,omitzero"`
	// Order is the item's rank: the smallest starts first, among equals that with
	// the smallest ID.
	Order int64 `json:"o,omitempty"`
	// NotBefore and ExpiresAt bound the first attempt's start; zero: unbounded.
	NotBefore time.Time `json:"nb,omitzero"`
	ExpiresAt time.Time `json:"ex,omitzero"`
	// Estimate is how long the item is expected to run from its beginning; 0:
	// unknown.
	Estimate time.Duration `json:"es,omitempty"`
	// Bytes is what an attempt carries of the item itself.
	Bytes int `json:"by,omitempty"`
	// Retry, Timeout and HeartbeatTimeout replace those of the work's policy; zero:
	// the policy holds.
	Retry            *Retry        `json:"rt,omitempty"`
	Timeout          time.Duration `json:"to,omitempty"`
	HeartbeatTimeout time.Duration `json:"ht,omitempty"`
	// OnWorkerLoss replaces that of the work's policy; empty: the policy holds.
	OnWorkerLoss jobtype.OnWorkerLoss `json:"wl,omitempty"`
	// Attempt is how many attempts the item has had before it was offered.
	Attempt int `json:"a,omitempty"`
	// Checkpoint is where the next attempt continues; Done is how much of the work
	// it stands for, in percent; 0: unknown.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"dn,omitempty"`
}

// Want says where an item may run.
type Want struct {
	// Node pins it to one worker, Labels to workers that carry them all.
	Node   string            `json:"n,omitempty"`
	Labels map[string]string `json:"l,omitempty"`
	// Nowhere: the item takes no worker's slot, as a child workflow.
	Nowhere bool `json:"x,omitempty"`
	// Idle: its attempt is nothing but a wait that the source ends. It may travel to
	// the next workflow run. Only together with Nowhere.
	Idle bool `json:"i,omitempty"`
}

// Needs are resources that an item holds from before its attempt until its end.
type Needs = needs.Needs

// Work is what the items of one kind have in common. A source may replace it
// while its items wait.
type Work struct {
	Handler string
	// JobType restricts workers that serve only some; empty: no job type.
	JobType string
	Policy  jobtype.Policy
	// Bytes is what every attempt carries besides its item.
	Bytes int
	// PerWorker caps the attempts on one worker; 0: no cap.
	PerWorker int
}

// Retry says how often a failed item is tried again, and after which time.
type Retry struct {
	Limit int `json:"n"`
	// Backoff doubles with every retry up to MaxBackoff; without MaxBackoff it
	// stays as it is.
	Backoff    time.Duration `json:"b,omitempty"`
	MaxBackoff time.Duration `json:"m,omitempty"`
}

func (r Retry) wait(retries int) time.Duration {
	wait := r.Backoff
	for ; retries > 0 && wait < r.MaxBackoff; retries-- {
		wait = min(2*wait, r.MaxBackoff)
	}
	return max(wait, 0)
}

// Phase is what an item does that has not settled.
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

// State is how an item has settled.
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

// item is an Item with its life.
type item struct {
	Item

	Phase Phase `json:"ph"`
	// Retries counts attempts after a failure, Losses those after a lost worker,
	// Requeues those in a row that a busy id kept from starting.
	Retries  int `json:"r,omitempty"`
	Losses   int `json:"l,omitempty"`
	Requeues int `json:"rq,omitempty"`
	// Worker runs the item or ran it last; Instance is empty where no slot is taken.
	Worker   string `json:"wk,omitempty"`
	Instance string `json:"in,omitempty"`
	// Avoid is the worker on which it failed last, Pin the one that a lost item
	// returns to.
	Avoid string `json:"v,omitempty"`
	Pin   string `json:"pin,omitempty"`
	// ReadyAt is when it may start at the earliest; QueuedAt when it began to wait
	// for a worker; WaitsAt when it began to wait for anything else.
	ReadyAt   time.Time `json:"ra,omitzero"`
	QueuedAt  time.Time `json:"qa,omitzero"`
	WaitsAt   time.Time `json:"wa,omitzero"`
	StartedAt time.Time `json:"sa,omitzero"`
	// CancelBy is when the end of a canceled attempt is no longer waited for.
	Canceling string    `json:"x,omitempty"`
	CancelBy  time.Time `json:"xb,omitzero"`
	// Cut: the run's own end stops the attempt, no operator. Cuts counts how often
	// in a row that happened without a new checkpoint.
	Cut   bool   `json:"ct,omitempty"`
	Cuts  int    `json:"cs,omitempty"`
	Error string `json:"e,omitempty"`
	// Reported is the attempt whose end its worker has reported, Charged the one
	// that has cost a retry, Abandoned the one that is ended in its worker's place.
	Reported  int    `json:"rp,omitempty"`
	Charged   int    `json:"ch,omitempty"`
	Abandoned int    `json:"ab,omitempty"`
	Lost      Ending `json:"lost,omitzero"`
	// Retrying: the next attempt is a retry. Replacing: it replaces one that its worker
	// lost or returned.
	Retrying  bool `json:"ry,omitempty"`
	Replacing bool `json:"rep,omitempty"`
	// Adoptions counts how often the running attempt was adopted.
	Adoptions int `json:"ad,omitempty"`
	// Ran: an attempt has really run, so that ExpiresAt does not matter any more.
	Ran     bool `json:"ran,omitempty"`
	Resumed bool `json:"rs,omitempty"`
	// Granted: it has its resources, with the fences from Fence+1 to FenceEnd. Ask
	// counts its requests.
	// Asking: its request has no answer.
	Asking   bool  `json:"q,omitempty"`
	Granted  bool  `json:"g,omitempty"`
	Ask      int   `json:"k,omitempty"`
	Fence    int64 `json:"f,omitempty"`
	FenceEnd int64 `json:"fe,omitempty"`
	// Waits: admission has answered that others hold what it asks for.
	Waits bool `json:"qw,omitempty"`
	// Aside: it is queued in a class of its needs, see [crowd].
	Aside bool `json:"asd,omitempty"`
	// Sent is the fence of its last attempt.
	Sent int64 `json:"sf,omitempty"`
	// Lacks are the processes that do not have its program, sorted. Direct: it is sent to
	// a worker, although its work has a shared queue.
	Lacks  []string `json:"la,omitempty"`
	Direct bool     `json:"di,omitempty"`
	// Deferral is the kind of its last ending if that deferred it, DeferredAt the time of the first
	// such ending in a row.
	Deferral   Failure   `json:"df,omitempty"`
	DeferredAt time.Time `json:"da,omitzero"`
	// Barred is why it is not tried again.
	Barred string `json:"b,omitempty"`

	class *class
	// at is the item's place in its class's heap; -1: none.
	at int
}

// Before implements [ranked.Seated].
func (it *item) Before(o *item) bool { return rankOf(it).before(rankOf(o)) }

// Seat implements [ranked.Seated].
func (it *item) Seat() *int { return &it.at }

// requests reports whether the item must still ask for resources.
func (it *item) requests() bool { return !it.Granted && it.Needs.Some() }

// node is the worker that the item must run on; empty: any.
func (it *item) node() string { return cmp.Or(it.Pin, it.Want.Node) }

// changedAt is when the item entered its phase.
func (it *item) changedAt() time.Time { return latest(latest(it.QueuedAt, it.WaitsAt), it.StartedAt) }

// inFlight reports whether an attempt runs or may still run.
func (it *item) inFlight() bool { return it.Phase == PhaseRunning || it.Phase == PhaseGrace }
