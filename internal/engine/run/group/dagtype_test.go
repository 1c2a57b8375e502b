package group

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// A group of a DAG has one job, which needs no worker: nothing is detected.
func TestGroupOfADAG(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"alone": {}, "in a lane": {Turn: true, Lane: "l"}, "with claims": {Claims: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.DAG = "rounds"
			s := open(t, cfg)
			s.begin()
			if cfg.Turn {
				s.step(TurnGranted{Fence: 1, Fences: 1})
			}
			if cfg.Claims {
				require.Equal(t, []Claim{{Job: 1, Key: "rounds", Hash: contract.DedupeHash("jt", "rounds")}}, s.g.Claims(false))
				s.step(KeysClaimed{Fence: 1, Fences: 9})
			}
			require.Equal(t, []string{"1@"}, started(s.last))
			s.roll()
			s.end(1, FailureNone)
			require.Equal(t, PhaseEnded, s.g.Phase())
			assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, Completed: 1}, s.g.Counts())
			assert.Equal(t, contract.OutcomeCompleted, s.g.Result(s.now).Outcome)
			for _, c := range s.all {
				_, detects := c.(StartDetection)
				assert.False(t, detects)
			}
		})
	}
}

func TestGroupOfADAGThatFails(t *testing.T) {
	t.Parallel()
	s := open(t, Config{DAG: "rounds", Policy: jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(5)}})
	s.begin()
	s.end(1, FailureFailed)
	assert.Equal(t, []string{"1@"}, started(s.wait(seconds(5).Std())), "retry_limit runs it again")
	s.end(1, FailureFailed)
	result := s.g.Result(s.now)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, "rounds", result.Errors[0].DedupeKey)
}

// A submission of one DAG with other params, while no worker is there.
func TestSubmissionToADAG(t *testing.T) {
	t.Parallel()
	s := open(t, Config{DAG: "rounds", Submitted: true})
	s.step(Submitted{Proposals: []jobtype.Proposal{{DedupeKey: "rounds {}", Params: []byte(`{"a":"b"}`)}}})
	s.prepared()
	require.Equal(t, []string{"1@"}, started(s.last))
}
