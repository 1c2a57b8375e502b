package jobs

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// An outcome reports the worker's load from other groups at that moment, but not from its own.
func TestOutcomesTellWhatOthersUse(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 3)
	b := executing(t, func(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		if job.ID != "job-00001" {
			entered <- struct{}{}
			<-release
		}
		return jobtype.Result{Summary: job.ID}, nil
	})
	var all sync.WaitGroup
	for id, group := range map[string]string{"job-00002": "group/y-1", "job-00003": "dag/z/1", "job-00004": "group/x-1"} {
		all.Go(func() {
			in := input("")
			in.Job.ID, in.Job.GroupID = id, group
			b.run(t, in)
		})
	}
	for range 3 {
		<-entered
	}
	others, ofHandler := b.activities.Others("group/x-1", "another")
	assert.Equal(t, []int{2, 0}, []int{others, ofHandler})
	b.run(t, input(""))
	state, err := b.only(t)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2}, []int{state.Others, state.OthersOfHandler})
	close(release)
	all.Wait()
	others, _ = b.activities.Others("", "fake")
	assert.Zero(t, others)
}

// A handler that ignores its end occupies its slot, and no group counts it.
func TestAZombieIsNobodys(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		<-release
		return jobtype.Result{}, nil
	})
	in := input("")
	in.Timeout = 1
	var all sync.WaitGroup
	all.Go(func() { b.run(t, in) })
	require.Eventually(t, func() bool { return len(b.server.outcomes()) == 1 }, time.Minute, 5*time.Millisecond)
	state := b.failed(t)
	assert.Equal(t, contract.FailureTimeout, state.Failure)
	assert.Equal(t, []int{1, 1}, []int{state.Others, state.OthersOfHandler}, "it still runs there")
	close(release)
	all.Wait()
}
