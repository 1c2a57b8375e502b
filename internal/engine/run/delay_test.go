package run

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestTheCodeOfAWaitForAWorker: the audit log has the code that `explain` gave during the wait.
func TestTheCodeOfAWaitForAWorker(t *testing.T) {
	t.Parallel()
	recovering := WorkersChanged{Incomplete: true}
	complete := WorkersChanged{}
	with := func(v WorkersChanged) WorkersChanged {
		v.Workers = []contract.WorkerView{node("a", 1)}
		return v
	}
	for name, c := range map[string]struct {
		views []WorkersChanged
		want  contract.Code
	}{
		"no worker": {[]WorkersChanged{complete, with(complete)}, contract.CodeNoWorker},
		"the worker registers with a new registry": {[]WorkersChanged{recovering, with(recovering)}, contract.CodeFleetRecovering},
		"it is the last one that registers":        {[]WorkersChanged{recovering, with(complete)}, contract.CodeFleetRecovering},
		"a new registry without it":                {[]WorkersChanged{recovering, complete, with(complete)}, contract.CodeNoWorker},
		"no worker, and then also a new registry":  {[]WorkersChanged{complete, recovering, with(recovering)}, contract.CodeNoWorker},
		"a registry that recovers again and again": {[]WorkersChanged{recovering, recovering, with(recovering)}, contract.CodeFleetRecovering},
		"a new registry, no worker, and again one": {[]WorkersChanged{complete, recovering, complete, with(complete)}, contract.CodeNoWorker},
	} {
		for _, reload := range []bool{false, true} {
			s := play(t, Config{}, jobtype.Policy{})
			s.step(c.views[0])
			s.plain(1)
			for _, view := range c.views[1:] {
				s.wait(time.Minute)
				require.Equal(t, len(view.Workers) == 0, s.step(view) == nil || starts(s.last) == "", name)
				if reload && len(view.Workers) == 0 {
					s.reload()
					s.step(view)
				}
			}
			notes := s.e.Notes()
			require.Len(t, notes, 1, name)
			assert.Equal(t, []any{Delayed, c.want}, []any{notes[0].Verdict, notes[0].Code}, name)
			assert.Equal(t, time.Minute*time.Duration(len(c.views)-1), notes[0].Waited, name)
		}
	}
}

// TestAKnownWorkerThatIsAwayIsTheCause also while the registry is new: it has this worker already.
func TestAKnownWorkerThatIsAwayIsTheCause(t *testing.T) {
	t.Parallel()
	for state, code := range map[contract.WorkerState]contract.Code{
		contract.WorkerCordoned: contract.CodeCordoned, contract.WorkerDraining: contract.CodeCordoned, contract.WorkerUnreachable: contract.CodeUnreachable,
	} {
		s := play(t, Config{}, jobtype.Policy{})
		away := node("a", 1)
		away.State, away.Fresh = state, state != contract.WorkerUnreachable
		s.step(WorkersChanged{Incomplete: true, Workers: []contract.WorkerView{away}})
		s.offer(Item{ID: 1, Want: Want{Node: "a"}})
		wait := s.e.WaitOf(1, s.now)
		assert.Equal(t, []any{code, "a"}, []any{wait.Code, wait.Object})
		assert.Contains(t, wait.Detail, strings.ToLower(string(state)))
	}
}
