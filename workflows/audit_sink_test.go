package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

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
