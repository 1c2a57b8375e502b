package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// A retry and a replacement count when they start: an item that never starts again has neither.
func TestWhatIsDoneAgainCountsWhenItStarts(t *testing.T) {
	t.Parallel()
	for failure, want := range map[Failure][2]int{contract.FailureFailed: {1, 0}, contract.FailureDraining: {0, 1}} {
		for _, goesOn := range []bool{true, false} {
			s := play(t, Config{}, jobtype.Policy{RetryLimit: 1}, node("a", 1))
			s.plain(1)
			s.e.Pause(s.now, "ann", "")
			s.end(1, failure)
			s.reload()
			retried, replaced := s.e.Again()
			require.Equal(t, [2]int{}, [2]int{retried, replaced}, "%s: it has not started yet", failure)
			if !goesOn {
				s.e.Stop(s.now, NotStarted, "the end")
				s.take()
				retried, replaced = s.e.Again()
				assert.Equal(t, [2]int{}, [2]int{retried, replaced}, failure)
				continue
			}
			s.step(WorkersChanged{Workers: nil})
			s.e.Resume()
			s.step(WorkersChanged{Workers: []contract.WorkerView{node("b", 1)}})
			s.wait(time.Minute)
			require.Equal(t, PhaseRunning, s.e.items[1].Phase)
			retried, replaced = s.e.Again()
			assert.Equal(t, want, [2]int{retried, replaced}, failure)
		}
	}
}
