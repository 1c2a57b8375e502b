package contract

import "time"

// QueryExplain of a DAG run takes an ExplainQueryInput and returns an ExplainQueryResult.
const QueryExplain = "explain"

// ExplainQueryInput names a task; an empty name means the run.
type ExplainQueryInput struct {
	Task string `json:"task,omitempty"`
}

// ExplainQueryResult lists the reasons why a DAG run or one of its tasks waits.
type ExplainQueryResult struct {
	// Unknown means that the task does not exist. Similar is the closest existing name.
	Unknown bool   `json:"unknown,omitempty"`
	Similar string `json:"similar,omitempty"`
	// Kind of the task; empty for the run.
	Kind string `json:"kind,omitempty"`
	// State of the task, or phase of the run.
	State string `json:"state"`
	// Worker is the worker of the current attempt, StartedAt the time it was sent there.
	Worker    string    `json:"worker,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Waits are the reasons. Object is empty if the reason concerns the whole run.
	Waits []WaitReason `json:"waits,omitempty"`
	// More counts omitted reasons.
	More int `json:"more,omitempty"`
	// SubDAGs lists tasks whose sub-DAG runs. Running counts the other attempts.
	SubDAGs []string `json:"sub_dags,omitempty"`
	Running int      `json:"running"`
}
