package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

func TestPhasesHaveTheirTimes(t *testing.T) {
	t.Parallel()
	s := open(t, Config{Turn: true, Lane: "default", MaxWait: time.Hour})
	s.begin()
	began := s.now
	s.wait(20 * time.Second)
	s.ran(run.WorkersChanged{Workers: nodes(node("a", 1))})
	worker := s.now
	s.wait(30 * time.Second)
	s.step(TurnGranted{Fence: 1000, Fences: 10})
	granted := s.now
	s.wait(5 * time.Second)
	s.detected(jobtype.Proposal{DedupeKey: "k"})
	found := s.now
	phases := s.g.Status(s.now).Phases
	assert.Equal(t, []contract.GroupPhase{
		{Phase: "preparing", At: began},
		{Phase: "waiting", At: began, Code: "NO_WORKER"},
		{Phase: "waiting", At: worker, Code: "LANE_BUSY"},
		{Phase: "detecting", At: granted},
		{Phase: "dispatching", At: found},
	}, phases)
	s.roll()
	assert.Equal(t, phases, s.g.Status(s.now).Phases, "they travel with the state")
	s.end(1, "")
	ended := s.g.Result(s.now).Phases
	require.NotEmpty(t, ended)
	assert.Equal(t, contract.GroupPhase{Phase: "ended", At: s.now}, ended[len(ended)-1])
}

func TestPhasesAreBounded(t *testing.T) {
	t.Parallel()
	g := New(Config{JobType: "jt", Handler: "h"}, epoch)
	for i := range 100 {
		g.phase = PhasePreparing
		if i%2 == 0 {
			g.phase = PhaseRunning
		}
		g.enterPhase(epoch.Add(time.Duration(i) * time.Minute))
	}
	require.Len(t, g.phases, maxPhases)
	assert.Equal(t, epoch, g.phases[0].At)
	assert.Equal(t, epoch.Add(99*time.Minute), g.phases[maxPhases-1].At)
}
