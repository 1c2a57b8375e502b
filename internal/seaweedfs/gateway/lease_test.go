package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

const holder = "roundsman-gateway"

// leasing is a gateway with one worker, and the master of its cluster.
func leasing(t *testing.T, execute func(started chan<- struct{}) fakeworker.Options) (m *member, cluster *fakecluster.Cluster, block json.RawMessage, ahead *atomic.Int64, started chan struct{}) {
	t.Helper()
	ahead = &atomic.Int64{}
	cluster = fakecluster.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	served, err := cluster.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(served.Stop)
	leases := gateway.NewLeases()
	door, all := serve(t, func(o *gateway.Options) { o.Lease = leases })
	t.Cleanup(func() { assert.NoError(t, leases.Close(context.WithoutCancel(t.Context()))) })
	started = make(chan struct{}, 10)
	m, _ = connect(t, door, all, execute(started))
	return m, cluster, json.RawMessage(fmt.Sprintf(`{"masters":[%q]}`, served.Master)), ahead, started
}

func hanging(started chan<- struct{}) fakeworker.Options {
	return fakeworker.Options{ID: "w", MaxExecute: 4, Detect: oneVolume, Execute: hang(started)}
}

func TestTheShellLeaseIsHeldWhileAWorkerChangesTheCluster(t *testing.T) {
	t.Parallel()
	m, cluster, block, _, started := leasing(t, hanging)
	params := proposalOf(t, m)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 2)
	run := func(handler string) {
		_, err := m.handler(t, handler).Execute(ctx, jobtype.Job{ID: handler, Cluster: block, Params: params}, &progress{})
		ended <- err
	}
	go run("weed-s3_lifecycle")
	<-started
	assert.Empty(t, cluster.Holder("shell"), "it changes no volume")
	go run("weed-vacuum")
	<-started
	assert.Equal(t, holder, cluster.Holder("shell"))
	cancel(jobtype.ErrCanceled)
	require.ErrorIs(t, <-ended, jobtype.ErrCanceled)
	require.ErrorIs(t, <-ended, jobtype.ErrCanceled)
	testsuite.WaitFor(t, 5*time.Second, "the lease to be released", func() bool { return cluster.Holder("shell") == "" })
}

// TestTheLeaseIsHeldWhileAScriptCannotBeStopped: the job is abandoned, the lease is kept.
func TestTheLeaseIsHeldWhileAScriptCannotBeStopped(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	m, cluster, block, _, started := leasing(t, func(started chan<- struct{}) fakeworker.Options {
		return fakeworker.Options{ID: "w", Detect: oneVolume, Execute: func(context.Context, *pb.ExecuteJobRequest, func(float64, string)) (*pb.JobResult, error) {
			started <- struct{}{}
			<-finish
			return &pb.JobResult{}, nil
		}}
	})
	params, ended := proposalOf(t, m), make(chan error, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, err := m.handler(t, "weed-admin_script").Execute(ctx, jobtype.Job{ID: "j", Cluster: block, Params: params}, &progress{})
		ended <- err
	}()
	<-started
	cancel(jobtype.ErrCanceled)
	require.ErrorContains(t, <-ended, "did not end it within")
	assert.Equal(t, holder, cluster.Holder("shell"))
	close(finish)
	testsuite.WaitFor(t, 5*time.Second, "the lease to be released", func() bool { return cluster.Holder("shell") == "" })
}

func TestAJobWaitsForAnOperatorsShell(t *testing.T) {
	t.Parallel()
	m, cluster, block, _, started := leasing(t, hanging)
	params := proposalOf(t, m)
	token, since, err := cluster.Lease("shell", "ann", 0, 0)
	require.NoError(t, err)
	reported, ended := &progress{}, make(chan error, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(ctx, jobtype.Job{ID: "j", Cluster: block, Params: params}, reported)
		ended <- err
	}()
	testsuite.WaitFor(t, 5*time.Second, "the wait to be told", func() bool {
		reported.mu.Lock()
		defer reported.mu.Unlock()
		return len(reported.stages) > 0 && reported.stages[0] == "waits for the shell lease"
	})
	assert.Empty(t, started, "nothing is sent without the lease")
	cluster.Release("shell", token, since)
	<-started
	cancel(jobtype.ErrCanceled)
	require.ErrorIs(t, <-ended, jobtype.ErrCanceled)
}

// TestAWaitForTheLeaseEndsWithTheStream: a worker that connects again waits for the end of its earlier jobs.
func TestAWaitForTheLeaseEndsWithTheStream(t *testing.T) {
	t.Parallel()
	m, cluster, block, _, _ := leasing(t, hanging)
	params := proposalOf(t, m)
	var token, since int64
	keep := func() { // Otherwise her lease expires.
		var err error
		token, since, err = cluster.Lease("shell", "ann", token, since)
		require.NoError(t, err)
	}
	keep()
	reported, ended := &progress{}, make(chan error, 1)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(context.WithoutCancel(t.Context()), jobtype.Job{ID: "j", Cluster: block, Params: params}, reported)
		ended <- err
	}()
	testsuite.WaitFor(t, time.Minute, "the job to wait", func() bool {
		keep()
		reported.mu.Lock()
		defer reported.mu.Unlock()
		return len(reported.stages) > 0
	})
	m.failed <- errors.New("fenced")
	testsuite.WaitFor(t, time.Minute, "the wait to end", func() bool {
		keep()
		return len(ended) == 1
	})
	require.ErrorIs(t, <-ended, jobtype.ErrAtCapacity)
}

func TestALostLeaseStopsTheJob(t *testing.T) {
	t.Parallel()
	m, cluster, block, ahead, started := leasing(t, hanging)
	params, ended := proposalOf(t, m), make(chan error, 1)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(context.WithoutCancel(t.Context()), jobtype.Job{ID: "j", Cluster: block, Params: params}, &progress{})
		ended <- err
	}()
	<-started
	ahead.Store(int64(time.Minute)) // The master treats the lease as expired.
	_, _, err := cluster.Lease("shell", "ann", 0, 0)
	require.NoError(t, err)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, weed.ErrLeaseLost)
	case <-time.After(2 * time.Minute):
		t.Fatal("the job continued without the lease")
	}
}

// TestADetectionReportsADeadMaster: long before its timeout, with the names of the master and
// the lease.
func TestADetectionReportsADeadMaster(t *testing.T) {
	t.Parallel()
	m, _, _, _, _ := leasing(t, hanging)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found := jobtypetest.Detect(ctx, m.handler(t, "weed-vacuum"), jobtype.DetectInput{Cluster: json.RawMessage(`{"masters":["127.0.0.1:1.1"]}`)})
	require.NoError(t, ctx.Err())
	require.ErrorContains(t, found.Err, `UNREACHABLE: no master answers: lease "shell": master 127.0.0.1:1.1: `)
	require.ErrorContains(t, found.Err, "connection refused")
}
