package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/sdk/activity"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
)

// auditSink takes what workflows record.
type auditSink struct {
	mu      sync.Mutex
	records []contract.RecordAuditInput
}

// takeAudit registers the activity that records.
func takeAudit(env *sdktest.TestWorkflowEnvironment) *auditSink {
	s := &auditSink{}
	env.RegisterActivityWithOptions(func(_ context.Context, in contract.RecordAuditInput) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.records = append(s.records, in)
		return nil
	}, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	return s
}

func (s *auditSink) entries() []contract.AuditEntry {
	var list []contract.AuditEntry
	for _, record := range s.records {
		list = append(list, record.Entries...)
	}
	return list
}

// said is an entry in one line.
func said(e contract.AuditEntry) string {
	words := []string{e.Action, e.Code, e.Object}
	if e.Count > 1 {
		words = append(words, fmt.Sprintf("×%d", e.Count))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func (s *auditSink) said() []string {
	var list []string
	for _, e := range s.entries() {
		list = append(list, said(e))
	}
	return list
}

// TestDAGTellsOfOperatorsAndDelays plays both, over a continue-as-new.
func TestDAGTellsOfOperatorsAndDelays(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	tries := 0
	b.execute = func(contract.ExecuteInput) (contract.ExecuteState, error) {
		if tries++; tries == 1 {
			return contract.ExecuteState{}, errors.New("not yet")
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "look"}) }, time.Minute)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalResume, nil) }, 2*time.Minute)
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(contract.UpdateApprove, "1", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) }, OnComplete: func(any, error) {},
		}, contract.DecideTaskInput{Task: "gate", By: "ann", Note: "fine"})
	}, 3*time.Minute)
	result := b.run(`version: 1
name: audited
tasks:
  - {id: work, command: ["true"], retries: {limit: 2, backoff: 30s}}
  - {id: gate, approval: {prompt: fine}, needs: [work]}
`, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	run := "default-test-workflow-id"
	assert.ElementsMatch(t, []string{
		"dag.pause " + run, "dag.resume " + run, "dag.approve " + run + "/gate", "delayed RETRY_BACKOFF_UNTIL " + run,
	}, b.audit.said())
	for _, e := range b.audit.entries() {
		assert.Equal(t, "audited", e.JobType)
		if e.Action == "dag.approve" {
			assert.Equal(t, []string{"ann", "fine", "gate: running", "gate: succeeded"}, []string{e.Actor, e.Detail, e.Before, e.After})
		}
	}
}
