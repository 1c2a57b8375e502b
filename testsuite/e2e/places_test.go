package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestWaitingForAPoolTakesNoPlaceOfAGroup: a run has two places. One job of node a works, the others wait for
// its pool, and the jobs of node b run meanwhile.
func TestWaitingForAPoolTakesNoPlaceOfAGroup(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	open := s.hold("a")
	defer open()
	var found []jobtype.Proposal
	for range 5 {
		found = append(found, jobtype.Proposal{Params: []byte(`{"object":"a"}`), Resources: map[string]int{"node-a": 1}})
	}
	for range 3 {
		found = append(found, jobtype.Proposal{Params: []byte(`{"object":"b"}`), Resources: map[string]int{"node-b": 1}})
	}
	spec := siteSpec(t, "dump", "", found...)
	spec.Policy.GlobalExecutionConcurrency = 2
	run := p.begin("dump-1", spec)
	testsuite.WaitFor(t, 30*time.Second, "all jobs of b are done while one of a works", func() bool {
		return s.present("a") == 1 && s.present("b") == 0 && s.entered() == 4
	})
	open()
	result := p.end(run)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 8, result.Counts.Completed)
	assert.Equal(t, map[string]int{"a": 1, "b": 1}, s.crowds())
}

// TestWaitingForAPoolTakesNoPlaceOfADAG tests the same with tasks, across continue-as-new.
func TestWaitingForAPoolTakesNoPlaceOfADAG(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, newTally())
	dir := t.TempDir()
	text := "version: 1\nname: dumps\nconcurrency: 2\ntasks:\n" +
		"  - {id: a, for_each: [1, 2, 3, 4, 5], resources: {node-a: 1}, command: [sh, -c, 'while [ ! -e " + dir + "/go ]; do sleep 0.1; done']}\n" +
		"  - {id: b, for_each: [1, 2, 3], resources: {node-b: 1}, command: [sh, -c, 'touch " + dir + "/b.$0', '{{.Item}}']}\n"
	ref := runDAG(t, p.client, compileDAG(t, text, nil), starter.DAGOptions{RollEvents: 1})
	testsuite.WaitFor(t, 30*time.Second, "all tasks b are done while one of a works", func() bool {
		for n := 1; n <= 3; n++ {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("b.", n))); err != nil {
				return false
			}
		}
		return true
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	assert.Equal(t, contract.OutcomeCompleted, awaitDAG(t, p.client, ref, 60*time.Second).Outcome)
}
