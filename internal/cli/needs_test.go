package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

// TestNeedsEndByTheirActions: status lists each need of a person, also inside a sub-DAG, and the command of
// each action ends it.
func TestNeedsEndByTheirActions(t *testing.T) {
	t.Parallel()
	h := startDAGCluster(t)
	h.run("apply", "-c", h.write(`version: 1
job_types:
  copy: {handler: command, schedule: {every: 24h}, detect: {command: ["true"]}, execute: {command: ["true"]}}
  tape: {handler: command, schedule: {every: 24h}, each_worker: true, labels: {role: tape}, execute: {command: ["true"]}}
`)).OK()
	h.run("pause", "copy", "--note", "new disks").OK()
	directory := t.TempDir()
	outer := filepath.Join(directory, "outer.yaml")
	require.NoError(t, os.WriteFile(outer, []byte("version: 1\nname: outer\ntasks: [{id: sub, dag: inner.yaml}]\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "inner.yaml"), []byte("version: 1\nname: inner\ntasks: [{id: ok, approval: {prompt: agreed}}]\n"), 0o600))
	h.run("start", outer, "--as", "one").OK()
	needs := func() []explain.Need {
		return clitest.Decode[struct {
			Needs []explain.Need `json:"needs"`
		}](h.run("status", "-o", "json").OK()).Needs
	}
	find := func(code contract.Code) *explain.Need {
		list := needs()
		at := slices.IndexFunc(list, func(n explain.Need) bool { return n.Code == code })
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	for code, object := range map[contract.Code]string{contract.CodeApproval: "ok", contract.CodePaused: "copy", contract.CodeNoWorker: "command role=tape"} {
		testsuite.WaitFor(t, 30*time.Second, string(code), func() bool {
			found := find(code)
			return found != nil && found.Object == object
		})
	}
	h.run("status").OK().Says("NEEDS A PERSON", "AWAITING_APPROVAL", "roundsman approve dag/outer/one/sub/ok")
	for _, code := range []contract.Code{contract.CodeApproval, contract.CodePaused} {
		found := find(code)
		require.NotNil(t, found, code)
		assert.Len(t, slices.DeleteFunc(needs(), func(n explain.Need) bool { return n.Code != code }), 1, "%s is listed once", code)
		at := slices.IndexFunc(found.Actions, func(a action.Action) bool { return !a.Reads() })
		h.run(words(found.Actions[at].Command)[1:]...).OK()
		testsuite.WaitFor(t, 30*time.Second, "the end of "+string(code), func() bool { return find(code) == nil })
	}
}
