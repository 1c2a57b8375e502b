package contract

// QueryDurable answers a DurableResult. An entity answers it as long as its
// history is kept, also after it was ended: whoever starts it again asks, and
// gives it the answer, see [Inherited].
const QueryDurable = "durable"

// DurableResult is the part of an entity's state that nobody else knows. Only the
// entity reads Data.
type DurableResult struct {
	Data []byte `json:"data,omitempty"`
}

// Inherited is what an entity that is started again gets from the one before, if
// there was one.
type Inherited struct {
	Data []byte `json:"data,omitempty"`
	// From is the run that it comes from.
	From string `json:"from,omitempty"`
	// Fault says why there is nothing, although there was one before.
	Fault string `json:"fault,omitempty"`
}
