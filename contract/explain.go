package contract

import "time"

// QueryExplain of a DAG run takes an ExplainQueryInput and answers an
// ExplainQueryResult.
const QueryExplain = "explain"

// ExplainQueryInput names the task that is asked about; empty: the run.
type ExplainQueryInput struct {
	Task string `json:"task,omitempty"`
}

// ExplainQueryResult says what a run of a DAG, or a task of it, waits for.
type ExplainQueryResult struct {
	// Unknown: there is no such task; Similar is the one that was probably meant.
	Unknown bool   `json:"unknown,omitempty"`
	Similar string `json:"similar,omitempty"`
	// Kind of the task; empty for the run.
	Kind string `json:"kind,omitempty"`
	// State of the task, or phase of the run.
	State string `json:"state"`
	// Worker is where the task's attempt was sent, StartedAt when.
	Worker    string    `json:"worker,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Waits are the reasons. Object is empty where the run itself is meant.
	Waits []WaitReason `json:"waits,omitempty"`
	// More counts reasons that were left out.
	More int `json:"more,omitempty"`
	// SubDAGs are tasks whose sub-DAG runs, Running counts the other attempts.
	SubDAGs []string `json:"sub_dags,omitempty"`
	Running int      `json:"running"`
}
