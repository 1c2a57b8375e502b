package admission

// Decision is something to tell a holder. The set is closed.
type Decision interface{ decision() }

// Granted says that a request is granted. It is repeated when the request is.
type Granted struct {
	Holder Holder
	ID     string
	// Fence is the first of Fences consecutive ones, all of them greater than
	// every fence of an earlier grant.
	Fence, Fences int64
	// Taken lists which of the requested keys another request holds; all others
	// are granted.
	Taken []Taken
	// Off lists which of the requested keys are held back; they are not granted.
	Off []KeyOff
}

// KeyOff is a key that is held back, by its index in the request.
type KeyOff struct {
	Index int `json:"index"`
	Off   Off `json:"off"`
}

// KeyStopped tells the holder of a key that it is held back from now on: what
// waits for another attempt ends.
type KeyStopped struct {
	Holder Holder
	HeldBack
}

// TypeStopped tells the holders of a job type that it is disabled from now on:
// they start nothing more.
type TypeStopped struct {
	Holder Holder
	HeldBack
}

// Taken is a key that was not granted, by its index in the request.
type Taken struct {
	Index int
	By    Holder
}

// Refused says that a request will never be granted.
type Refused struct {
	Holder Holder
	ID     string
	Code   Code
	Reason string
}

// Lost says that something the holder believed to hold belongs to another.
type Lost struct {
	Holder Holder
	ID     string
	Reason string
}

func (Granted) decision()     {}
func (Refused) decision()     {}
func (Lost) decision()        {}
func (KeyStopped) decision()  {}
func (TypeStopped) decision() {}

// Code says why a request is refused.
type Code string

// The reasons.
const (
	// CodeCoalesced: another group of the job type already waits for the lane.
	CodeCoalesced Code = "COALESCED"
	// CodeTooLarge: it asks for more than a pool's size.
	CodeTooLarge Code = "TOO_LARGE"
	// CodeFull: the desk holds as many keys as it can carry.
	CodeFull Code = "FULL"
	// CodeInvalid: the request breaks a rule.
	CodeInvalid Code = "INVALID"
	// CodeBudget: too much of it failed.
	CodeBudget Code = "RETRY_BUDGET"
	// CodeMarkedDone: an operator says that it is done.
	CodeMarkedDone Code = "MARKED_DONE"
)
