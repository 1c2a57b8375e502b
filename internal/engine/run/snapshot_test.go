package run

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/jobtype"
)

// rich is a run with an item in every phase.
func rich(t *testing.T) *script {
	t.Helper()
	s := play(t, Config{Claims: true, Admit: true, Fence: 1, Fences: 100}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, PerWorkerExecutionConcurrency: 9}, node("a", 2), node("b", 2))
	s.e.SetClosing(s.now, Closing{At: epoch.Add(time.Hour), Learned: time.Minute})
	s.offer(Item{ID: 1}, Item{ID: 2}, Item{ID: 3}, needy(4), needy(5), takes(6, 2*time.Hour), Item{ID: 7, NotBefore: epoch.Add(time.Minute)}, Item{ID: 8, Want: Want{Nowhere: true, Idle: true}},
		Item{ID: 9, Want: Want{Node: "z"}}, Item{ID: 10, ExpiresAt: epoch.Add(time.Minute)})
	s.step(Granted{Item: 4, Ask: s.e.items[4].Ask, Fence: 200, Fences: 9})
	s.end(1, contract.FailureWorkerLost)
	s.wait(Grace)
	s.end(2, contract.FailureWorkerLost)
	s.endSaying(3, contract.FailureAtCapacity, s.said(1, 1))
	phases := map[Phase]bool{}
	for _, it := range s.e.items {
		phases[it.Phase] = true
	}
	require.GreaterOrEqual(t, len(phases), 7, "%v", phases)
	return s
}

func TestRestoreRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Snapshot){
		"an empty item":           func(s *Snapshot) { s.Items[0] = nil },
		"an item twice":           func(s *Snapshot) { s.Items[1] = s.Items[0] },
		"no phase":                func(s *Snapshot) { s.Items[0].Phase = PhaseNone },
		"a phase of another time": func(s *Snapshot) { s.Items[0].Phase = PhaseDue + 1 },
		"asks and does not ask":   func(s *Snapshot) { s.Items[3].Asking = !s.Items[3].Asking },
		"runs without an attempt": func(s *Snapshot) { s.Items[7].Attempt = 0 },
		"waits on a worker":       func(s *Snapshot) { s.Items[7].Want.Nowhere = false },
	} {
		var s Snapshot
		run := rich(t)
		require.NoError(t, json.Unmarshal(state(t, run.e), &s))
		require.Equal(t, 8, s.Items[7].ID)
		_, err := Restore(Config{Work: run.e.work}, s, epoch)
		require.NoError(t, err)
		spoil(&s)
		_, err = Restore(Config{Work: run.e.work}, s, epoch)
		assert.Error(t, err, name)
	}
}

// Restore of any accepted input does not panic, and the run ends.
func FuzzRestore(f *testing.F) {
	t := &testing.T{}
	f.Add(state(t, rich(t).e))
	f.Add([]byte(`{"items":[{"id":1,"ph":2}],"workers":[{"id":"a"},{"id":"a"}],"no_worker":[{"class":"x"}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s Snapshot
		if json.Unmarshal(data, &s) != nil {
			return
		}
		now := epoch
		e, err := Restore(Config{Claims: true, Work: map[string]Work{"": {Handler: "h", JobType: "jt"}}}, s, now)
		if err != nil {
			return
		}
		e.Apply(now, WorkersChanged{Workers: []contract.WorkerView{node("a", 2)}})
		for range 100 {
			decisions, _ := e.Take(now)
			for _, d := range decisions {
				if d.Kind == Start {
					e.Apply(now, Ended{Item: d.Item, Attempt: d.Attempt})
				}
			}
			for _, it := range byID(e.items) {
				e.WaitOf(it.ID, now)
			}
			wake := e.NextWake()
			if wake.IsZero() {
				break
			}
			now = instant.Later(now, wake)
			e.Apply(now, Tick{})
		}
		e.Stop(now, NotStarted, "over")
		e.CancelRunning(now, "over")
		e.Take(now)
	})
}
