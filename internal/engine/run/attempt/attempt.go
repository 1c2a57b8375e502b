// Package attempt has an item as a source offers it, the end of an attempt of it, and the rule for the next one.
package attempt

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/needs"
	"github.com/roundsman/roundsman/jobtype"
)

// Ending is the end of an attempt.
type Ending struct {
	Failure contract.FailureKind `json:"f,omitempty"`
	Message string               `json:"m,omitempty"`
	Warning string               `json:"wn,omitempty"`
	// Unreported: the server ended the attempt, and its worker may still report the real end.
	Unreported bool `json:"u,omitempty"`
	// Silent: no heartbeat for its timeout, without a stall. The worker may still run the attempt.
	Silent bool `json:"s,omitempty"`
	// Gone: the worker reported the loss of the attempt's process. No outcome will come.
	Gone bool `json:"g,omitempty"`
	// Delay is the time until the next attempt of a deferred item.
	Delay time.Duration `json:"dl,omitempty"`
	// Checkpoint is the last known one, for the next attempt; Done is its progress in percent.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"d,omitempty"`
	// Worker and Instance are the process that ran the attempt; empty if unknown.
	Worker   string `json:"w,omitempty"`
	Instance string `json:"i,omitempty"`
	// Load is the worker's load from other runs.
	Load     LoadReport    `json:"-"`
	Duration time.Duration `json:"t,omitempty"`
	// Result is a JSON object for a success, or empty.
	Result json.RawMessage `json:"-"`
}

// Reported is true for an ending by the worker, false for one by the server.
func (e Ending) Reported() bool {
	return !e.Unreported && e.Failure != contract.FailureWorkerLost && e.Failure != contract.FailureNotRunning && e.Failure != contract.FailureNotTaken
}

// Binds reports whether an item that returns to its worker must still go there: the attempt did not run. The next process
// of a worker may have the handler or the program that this one lacks.
func (e Ending) Binds() bool {
	switch e.Failure { //nolint:exhaustive // all others ran
	case contract.FailureAtCapacity, contract.FailureNotTaken, contract.FailureCannotStart, contract.FailureNotInstalled,
		contract.FailureUnsupported, contract.FailureGuard, contract.FailureWorkerLost, contract.FailureNotRunning:
		return true
	case contract.FailureDraining:
		return e.Duration == 0 // The worker returned it before its start.
	}
	return false
}

// LoadReport is a worker's report of the slots that other runs use.
type LoadReport struct {
	// At is the time of the report by the worker's clock; zero without a report.
	At time.Time `json:"at,omitzero"`
	// Slots that other runs use, in total and of the report's handler.
	Others    int `json:"others,omitempty"`
	OfHandler int `json:"of_handler,omitempty"`
}

// Retry is the rule for retries of a failed item.
type Retry struct {
	Limit int `json:"n"`
	// Backoff doubles with every retry up to MaxBackoff; without MaxBackoff it is constant.
	Backoff    time.Duration `json:"b,omitempty"`
	MaxBackoff time.Duration `json:"m,omitempty"`
}

// Wait returns the pause before the next attempt, after that many retries.
func (r Retry) Wait(retries int) time.Duration {
	wait := r.Backoff
	for ; retries > 0 && wait < r.MaxBackoff; retries-- {
		wait = min(2*wait, r.MaxBackoff)
	}
	return max(wait, 0)
}

// Item is a piece of work that a source offers.
type Item struct {
	// ID is unique among the items of the run that have not settled.
	ID   int    `json:"id"`
	Work string `json:"w,omitempty"`
	Want Want   `json:"wt,omitzero"`
	// Needs are granted to the item before it starts.
	Needs needs.Needs `json:"nd,omitzero"`
	// Order is the item's rank: the smallest starts first, among equals the smallest ID.
	Order int64 `json:"o,omitempty"`
	// NotBefore and ExpiresAt bound the first attempt's start; zero means no bound.
	NotBefore time.Time `json:"nb,omitzero"`
	ExpiresAt time.Time `json:"ex,omitzero"`
	// Estimate is the expected duration of the whole item; 0 if unknown.
	Estimate time.Duration `json:"es,omitempty"`
	// Bytes is the size of the item's part in an attempt's input.
	Bytes int `json:"by,omitempty"`
	// Retry, Timeout and HeartbeatTimeout override the work's policy if not zero.
	Retry            *Retry        `json:"rt,omitempty"`
	Timeout          time.Duration `json:"to,omitempty"`
	HeartbeatTimeout time.Duration `json:"ht,omitempty"`
	// OnWorkerLoss overrides the work's policy if not empty.
	OnWorkerLoss jobtype.OnWorkerLoss `json:"wl,omitempty"`
	// Attempt counts the attempts before the offer.
	Attempt int `json:"a,omitempty"`
	// Start of the next attempt, and its progress in percent, 0 if unknown.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"dn,omitempty"`
}

// Want restricts the workers of an item.
type Want struct {
	// Node pins it to one worker, Labels to workers with all of them.
	Node   string            `json:"n,omitempty"`
	Labels map[string]string `json:"l,omitempty"`
	// Nowhere means that the item takes no worker's slot, as a child workflow.
	Nowhere bool `json:"x,omitempty"`
	// Idle: only a wait that the source ends, which survives continue-as-new. Only with Nowhere.
	Idle bool `json:"i,omitempty"`
}
