// Package envtest has helpers for workflow tests in the SDK's test environment: a recorder of audit entries, and a worker
// filled by other runs. It makes no assertions.
package envtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/contract"
)

// Patience bounds the computation of a workflow task and the inactivity of an environment. The SDK's 1 s and 3 s are
// exceeded under the race detector on a busy machine.
const Patience = 2 * time.Minute

// New returns an environment with [Patience]. A test that sets worker options must set DeadlockDetectionTimeout as well.
func New() *sdktest.TestWorkflowEnvironment {
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: Patience})
	env.SetTestTimeout(Patience)
	return env
}

// Audit keeps the entries that workflows record in the audit log.
type Audit struct {
	mu      sync.Mutex
	records []contract.RecordAuditInput
}

// RecordAudit registers the recording activity.
func RecordAudit(env *sdktest.TestWorkflowEnvironment) *Audit {
	a := &Audit{}
	env.RegisterActivityWithOptions(func(_ context.Context, in contract.RecordAuditInput) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.records = append(a.records, in)
		return nil
	}, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	return a
}

// Records returns the calls so far.
func (a *Audit) Records() []contract.RecordAuditInput {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]contract.RecordAuditInput(nil), a.records...)
}

// Entries returns the entries of all calls.
func (a *Audit) Entries() []contract.AuditEntry {
	var list []contract.AuditEntry
	for _, record := range a.Records() {
		list = append(list, record.Entries...)
	}
	return list
}

// Lines returns the entries, each in one [Line].
func (a *Audit) Lines() []string {
	var list []string
	for _, e := range a.Entries() {
		list = append(list, Line(e))
	}
	return list
}

// Line returns an entry's action, code, object and count.
func Line(e contract.AuditEntry) string {
	words := []string{e.Action, e.Code, e.Object}
	if e.Count > 1 {
		words = append(words, fmt.Sprintf("×%d", e.Count))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// FailureOf returns an attempt's failure of this kind.
func FailureOf(kind contract.FailureKind, details ...any) error {
	return temporal.NewApplicationErrorWithOptions("it went wrong", string(kind), temporal.ApplicationErrorOptions{NonRetryable: true, Details: details})
}

// Neighbour is the worker node-a, filled by other runs until Freed.
type Neighbour struct {
	Handler      string
	Began, Freed time.Time
	// Returned counts the attempts without room. FirstAfter is the time from Freed to the first attempt that ran.
	Returned   int
	FirstAfter time.Duration
}

// FilledFor returns a neighbour that is filled for the given time.
func FilledFor(handler string, now time.Time, filled time.Duration) *Neighbour {
	return &Neighbour{Handler: handler, Began: now, Freed: now.Add(filled)}
}

// Execute makes an attempt at now.
func (n *Neighbour) Execute(now time.Time) (contract.ExecuteState, error) {
	state := contract.ExecuteState{Worker: "node-a", Instance: "i-node-a", StartedAt: now}
	if now.Before(n.Freed) {
		n.Returned++
		state.Failure, state.Others = contract.FailureAtCapacity, 4
		return state, FailureOf(contract.FailureAtCapacity, state)
	}
	if n.FirstAfter == 0 {
		n.FirstAfter = now.Sub(n.Freed)
	}
	return state, nil
}

// ReportRoom signals the environment's workflow at Freed that there is room.
func (n *Neighbour) ReportRoom(env *sdktest.TestWorkflowEnvironment) {
	room := contract.WorkerRoomInput{Worker: "node-a", Instance: "i-node-a", Handler: n.Handler, At: n.Freed}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalWorkerRoom, room) }, n.Freed.Sub(n.Began))
}
