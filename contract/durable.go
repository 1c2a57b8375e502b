package contract

// QueryDurable returns a DurableResult, also after the entity's end, for its next start. See [Inherited].
const QueryDurable = "durable"

// DurableResult is the state of an entity that exists nowhere else. Only the entity decodes Data.
type DurableResult struct {
	Data []byte `json:"data,omitempty"`
	// Passed lists earlier runs whose ends are not in the audit log yet.
	Passed []string `json:"passed,omitempty"`
}

// Inherited is the state of the previous entity, passed to a restarted one.
type Inherited struct {
	Data []byte `json:"data,omitempty"`
	// From is the run that produced Data.
	From string `json:"from,omitempty"`
	// Passed lists runs that were ended and whose ends may be missing in the audit log.
	Passed []string `json:"passed,omitempty"`
	// Fault is the reason why Data of an existing previous entity is missing.
	Fault string `json:"fault,omitempty"`
}
