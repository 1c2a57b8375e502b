// Package envtest has what the tests of several workflows need in the SDK's test
// environment: a recorder of audit entries, and a worker that others fill. It makes
// no assertions.
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

// Patience is how long a workflow task may compute, and how long an environment may do
// nothing: the SDK's 1 s and 3 s are passed under the race detector on a busy machine.
const Patience = 2 * time.Minute

// New makes an environment with [Patience]. A test that sets its worker's options sets that of
// the detection of deadlocks as well.
func New() *sdktest.TestWorkflowEnvironment {
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: Patience})
	env.SetTestTimeout(Patience)
	return env
}

// Audit keeps what workflows record in the audit log.
type Audit struct {
	mu      sync.Mutex
	records []contract.RecordAuditInput
}

// RecordAudit registers the activity that records.
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

// Line is an entry's action, code, object and count.
func Line(e contract.AuditEntry) string {
	words := []string{e.Action, e.Code, e.Object}
	if e.Count > 1 {
		words = append(words, fmt.Sprintf("×%d", e.Count))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// FailureOf is an attempt's failure of that kind.
func FailureOf(kind contract.FailureKind, details ...any) error {
	return temporal.NewApplicationErrorWithOptions("it went wrong", string(kind), temporal.ApplicationErrorOptions{NonRetryable: true, Details: details})
}

// Neighbour is the worker node-a, which others fill until Freed.
type Neighbour struct {
	Handler      string
	Began, Freed time.Time
	// Returned counts the attempts that found no room, FirstAfter is how long after
	// Freed the first one ran.
	Returned   int
	FirstAfter time.Duration
}

// FilledFor returns a neighbour that others fill for so long.
func FilledFor(handler string, now time.Time, filled time.Duration) *Neighbour {
	return &Neighbour{Handler: handler, Began: now, Freed: now.Add(filled)}
}

// Execute is an attempt at now.
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

// ReportRoom has the environment's workflow receive at Freed that there is room.
func (n *Neighbour) ReportRoom(env *sdktest.TestWorkflowEnvironment) {
	room := contract.WorkerRoomInput{Worker: "node-a", Instance: "i-node-a", Handler: n.Handler, At: n.Freed}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalWorkerRoom, room) }, n.Freed.Sub(n.Began))
}
