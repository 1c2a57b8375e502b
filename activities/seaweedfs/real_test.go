package seaweedfs

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/realcluster"
)

// site is a real cluster with handlers.
type site struct {
	*realcluster.Cluster
	t        *testing.T
	block    json.RawMessage
	handlers map[string]jobtype.Handler
}

func newSite(t *testing.T) *site {
	t.Helper()
	cluster := realcluster.New(t)
	block, err := json.Marshal(weed.Spec{Masters: []string{cluster.Master}})
	require.NoError(t, err)
	s := &site{Cluster: cluster, t: t, block: block}
	s.handlers = s.process()
	return s
}

// process returns handlers with a lease of their own.
func (s *site) process() map[string]jobtype.Handler {
	connections := NewConnections(weed.KeeperOptions{})
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(s.t, connections.Close(ctx))
	})
	handlers := map[string]jobtype.Handler{}
	for _, handler := range New(connections, newRunner()) {
		handlers[handler.Descriptor().Name] = handler
	}
	return handlers
}

func (s *site) input(params string) jobtype.DetectInput {
	return jobtype.DetectInput{Cluster: s.block, Params: json.RawMessage(params), MaxResults: 100}
}

// run detects and executes until a detection finds nothing.
func (s *site) run(name, params string) (jobs int) {
	s.t.Helper()
	for range 5 {
		found := jobtypetest.Detect(s.t.Context(), s.handlers[name], s.input(params))
		require.NoError(s.t, found.Err)
		if len(found.Proposals) == 0 {
			return jobs
		}
		for _, proposal := range found.Proposals {
			job, err := jobtypetest.JobOf(s.input(params), proposal, nil)
			require.NoError(s.t, err)
			began := time.Now()
			done := jobtypetest.Execute(s.t.Context(), s.handlers[name], job)
			s.t.Logf("%s: %s (%v) %v", proposal.Summary, done.Result.Summary, time.Since(began).Round(time.Millisecond), done.Err)
			if done.Err != nil {
				s.t.Errorf("%s: %v", proposal.Summary, done.Err)
			}
			jobs++
		}
		if s.t.Failed() {
			return jobs
		}
		s.Heartbeat()
	}
	return jobs
}

// TestRealMovesAndEncodings moves, encodes and balances on a real cluster.
func TestRealMovesAndEncodings(t *testing.T) {
	for _, placement := range []string{"000", "001", "010"} {
		t.Run(placement, func(t *testing.T) {
			s := newSite(t)
			servers := s.Servers()
			s.Grow(6, placement, servers[0])
			s.Write(120, 60_000, placement)
			s.Heartbeat()
			s.Verify()
			require.NotZero(t, s.run("volume_balance", fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01}`, s.Collection)))
			s.Verify()
			require.NotZero(t, s.run("erasure_coding", fmt.Sprintf(`{"collection_filter":"^%s$","quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`, s.Collection)))
			s.Verify()
		})
	}
}

// TestRealKillsInAMove ends the worker of a move in each step, as SIGKILL does: it undoes nothing, and its
// lease ends by itself. The next attempt completes the move. The server continues a long copy by itself.
func TestRealKillsInAMove(t *testing.T) {
	s := newSite(t)
	on := s.Servers()[0]
	s.Grow(7, "000", on)
	s.Write(140, 500_000, "000")
	s.Heartbeat()
	params := fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01,"io_byte_per_second":2000000}`, s.Collection)
	found := jobtypetest.Detect(t.Context(), s.handlers["volume_balance"], s.input(params))
	require.NoError(t, found.Err)
	require.GreaterOrEqual(t, len(found.Proposals), 3)
	for i, stage := range []string{"mark-readonly", "copy", "tail", "delete"} {
		if i >= len(found.Proposals) {
			break
		}
		job, err := jobtypetest.JobOf(s.input(params), found.Proposals[i], nil)
		require.NoError(t, err)
		ctx, kill := context.WithCancelCause(t.Context())
		killed := jobtypetest.Execute(ctx, &killer{Handler: s.process()["volume_balance"], stage: stage, kill: kill}, job)
		t.Logf("%s: %v", stage, killed.Err)
		job.Attempt, job.Checkpoint = 2, killed.LastCheckpoint()
		began := time.Now()
		done := jobtypetest.Execute(t.Context(), s.handlers["volume_balance"], job)
		require.NoError(t, done.Err)
		t.Logf("%s: %s after %v", stage, done.Result.Summary, time.Since(began).Round(time.Millisecond))
		s.Heartbeat()
		s.Verify()
	}
}

// killer cancels an execution a moment after it reports a stage.
type killer struct {
	jobtype.Handler
	stage string
	kill  context.CancelCauseFunc
	// soon kills at once, because short calls would end within the usual delay.
	soon bool
}

// Execute implements [jobtype.Handler].
func (k *killer) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	return k.Handler.Execute(ctx, job, &stages{progress, k})
}

type stages struct {
	jobtype.Progress
	killer *killer
}

// Report implements [jobtype.Progress].
func (p *stages) Report(percent float64, stage, message string) {
	p.Progress.Report(percent, stage, message)
	if stage == p.killer.stage {
		after := 20 * time.Millisecond
		if p.killer.soon {
			after = time.Millisecond
		}
		time.AfterFunc(after, func() { p.killer.kill(jobtype.ErrLeaseLost) })
	}
}
