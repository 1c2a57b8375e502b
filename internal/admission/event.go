package admission

import "time"

// Holder is who asks and holds: a workflow, by id and by the id of the first
// run of its chain. Continue-as-new and reset keep both, another workflow under
// the same id has another first run.
type Holder struct {
	ID  string `json:"id"`
	Run string `json:"run"`
}

// Amount is a quantity of a pool.
type Amount struct {
	Pool string `json:"pool"`
	N    int    `json:"n"`
	// Size is what the holder's configuration declares for the pool; 0: nothing,
	// which means 1.
	Size int `json:"size,omitempty"`
}

// Object is a claim on something that others may want at the same time.
type Object struct {
	Name string `json:"name"`
	// Shared claims stand beside each other, an exclusive one stands alone.
	Shared bool `json:"shared,omitempty"`
}

// Request is one thing that a holder asks for. It has one kind: Lane, or Keys,
// or Pools and Objects, or nothing but Fences.
type Request struct {
	// ID is unique to the holder. Asking again with the same ID is a repeat.
	ID   string `json:"id"`
	Lane string `json:"lane,omitempty"`
	// Distinct: the turn is for other work than the job type's other groups do, so
	// that it is not coalesced with theirs.
	Distinct bool     `json:"distinct,omitempty"`
	Keys     []uint64 `json:"-"`
	Pools    []Amount `json:"pools,omitempty"`
	Objects  []Object `json:"objects,omitempty"`
	// Priority orders requests for resources: higher first.
	Priority int `json:"priority,omitempty"`
	// Fences is how many fences the grant reserves, at least 1.
	Fences int64 `json:"fences,omitempty"`
	// For says what it is for: a job or a task. A workflow that is started for it has
	// the holder's id, a slash and this as its id.
	For string `json:"for,omitempty"`
	// Start: it is for a group that begins. It is refused while the job type is
	// disabled, as one for a lane is.
	Start bool `json:"start,omitempty"`
}

// Held is something that a holder says it was granted.
type Held struct {
	Request

	Fence int64 `json:"fence"`
	// Since is when; zero: the holder does not know.
	Since time.Time `json:"since,omitzero"`
}

// Event is something that happened. The set is closed.
type Event interface{ apply(d *Desk, now time.Time) }

// Asked is all that a holder says at once: what it gives back, then what it
// asks for.
type Asked struct {
	Holder  Holder
	JobType string
	// Grace is how long after the holder's end its keys and resources stay
	// taken: what it started may live on for that long.
	Grace time.Duration
	// DeclaredAt is when the configuration that sizes the pools was read; the
	// newest one counts.
	DeclaredAt time.Time
	Release    []string
	// ReleaseAll gives back everything.
	ReleaseAll bool
	Requests   []Request
	// Reassert says that Held and Requests are all that the holder has.
	Reassert bool
	Held     []Held
	// Reset says that an operator has sent the holder back to an earlier state: it
	// has forgotten, and will do again, what came after. See [Desk.renew].
	Reset bool
	// Budget is what the job type may fail, Endings how its jobs ended.
	Budget  Budget
	Endings []Endings
}

// Endings is how jobs ended, or attempts of them. It may be told again.
type Endings struct {
	// At is when this was written down.
	At time.Time
	// Done are keys whose jobs completed, Settled those whose jobs ended in
	// another way. Both are free for others.
	Done, Settled []uint64
	// SuccessAt is when a job of the type completed last.
	SuccessAt time.Time
	// Failed are attempts that their handlers failed.
	Failed []Failure
}

// Failure is one failed attempt.
type Failure struct {
	// Key is empty for a job without one, else Hash is its hash.
	Key  string
	Hash uint64
	// Attempt tells attempts of one holder apart.
	Attempt string
	At      time.Time
	Error   string
}

// ReEnabled is an operator's wish: what a broken rule holds back may go on, and
// its failures are forgotten. An empty Key means the job type.
type ReEnabled struct {
	JobType, Key string
	Hash         uint64
}

// Forgiven is an operator's wish: nothing is held against the key any more.
type Forgiven struct {
	JobType, Key string
	Hash         uint64
}

// MarkedDone is an operator's wish: what the key stands for is done. Its
// failures are forgotten, and it is held back until then.
type MarkedDone struct {
	JobType, Key string
	Hash         uint64
	Until        time.Time
	By           string
}

// Closed says that a holder has ended, however it did.
type Closed struct{ Holder Holder }

// Gone says that no workflow of that id is running.
type Gone struct{ ID string }

// Expected tells a recovering desk who must be heard before it goes on. Final
// says that no more will be named.
type Expected struct {
	IDs   []string
	Final bool
}

// Recover makes the desk forget that it knows everything: it was reset to an
// earlier state. FenceFloor is above every fence that it may have given since.
type Recover struct{ FenceFloor int64 }

// Resized is an operator's size of a pool; 0 goes back to the declared one.
type Resized struct {
	Pool string
	Size int
}

// Tick says that time has passed: [Desk.NextDeadline] was reached.
type Tick struct{}

func (Tick) apply(*Desk, time.Time) {}
