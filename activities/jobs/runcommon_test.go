package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// asked answers for runs: first with faults, then with the common part.
type asked struct {
	common contract.RunCommon
	faults []error
	ids    []string
}

func (a *asked) Common(_ context.Context, workflowID, id string) (contract.RunCommon, error) {
	a.ids = append(a.ids, workflowID+" "+id)
	if len(a.faults) > 0 {
		fault := a.faults[0]
		a.faults = a.faults[1:]
		return contract.RunCommon{}, fault
	}
	return a.common, nil
}

func brings(common contract.RunCommon) contract.ExecuteInput {
	return contract.ExecuteInput{
		Common: common.ID(), Job: jobtype.Job{ID: "job-00001", Params: common.Params, Settings: common.Settings, Cluster: common.Cluster},
	}
}

func lacks(common contract.RunCommon) contract.ExecuteInput {
	return contract.ExecuteInput{Common: common.ID(), Job: jobtype.Job{ID: "job-00002"}}
}

// TestCommonIsKept: by its content, from any run.
func TestCommonIsKept(t *testing.T) {
	t.Parallel()
	common := contract.RunCommon{Params: []byte(`{"a":1}`), Cluster: []byte(`{"c":3}`)}
	store := jobs.NewCommons(nil)
	_, complete := store.Take(lacks(common))
	assert.False(t, complete)
	_, complete = store.Take(brings(common))
	assert.True(t, complete)
	in, complete := store.Take(lacks(common))
	assert.True(t, complete)
	assert.Equal(t, brings(common).Job.Params, in.Job.Params)
	assert.Equal(t, common.Cluster, in.Job.Cluster)
	assert.Empty(t, in.Job.Settings)
	_, complete = store.Take(contract.ExecuteInput{})
	assert.True(t, complete, "a job that has nothing in common with others lacks nothing")
	_, err := jobs.NewCommons(nil).Fetch(t.Context(), "group/x", lacks(common), func() {})
	require.Error(t, err)
}

// TestCommonIsAskedFor: until the run answers; a refusal ends it.
func TestCommonIsAskedFor(t *testing.T) {
	t.Parallel()
	common := contract.RunCommon{Settings: []byte(`{"b":2}`)}
	run, alive := &asked{common: common, faults: []error{errors.New("no control plane")}}, 0
	store := jobs.NewCommons(run)
	in, err := store.Fetch(t.Context(), "group/x", lacks(common), func() { alive++ })
	require.NoError(t, err)
	assert.Equal(t, common.Settings, in.Job.Settings)
	assert.Equal(t, []string{"group/x " + common.ID(), "group/x " + common.ID()}, run.ids)
	assert.Equal(t, 2, alive)
	_, complete := store.Take(lacks(common))
	assert.True(t, complete, "it is asked for once")

	for _, fault := range []error{&jobs.RejectedError{Err: errors.New("unknown")}, jobtype.ErrLeaseLost} {
		_, err = jobs.NewCommons(&asked{faults: []error{fault}}).Fetch(t.Context(), "group/x", lacks(common), func() {})
		require.ErrorIs(t, err, fault)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(jobtype.ErrCanceled)
	_, err = jobs.NewCommons(run).Fetch(ended, "group/x", lacks(common), func() {})
	require.ErrorIs(t, err, jobtype.ErrCanceled)
}

// TestCommonIsBounded: the least recently used part is dropped.
func TestCommonIsBounded(t *testing.T) {
	t.Parallel()
	store := jobs.NewCommons(nil)
	of := func(c string) contract.RunCommon { return contract.RunCommon{Params: []byte(strings.Repeat(c, 3<<20))} }
	for _, c := range []string{"a", "b", "a", "c"} {
		_, complete := store.Take(brings(of(c)))
		require.True(t, complete)
	}
	for c, known := range map[string]bool{"a": true, "b": false, "c": true} {
		_, complete := store.Take(lacks(of(c)))
		assert.Equal(t, known, complete, c)
	}
}

func (*asked) Proposal(context.Context, string, contract.ProposalRef) (jobtype.Proposal, error) {
	return jobtype.Proposal{}, &jobs.RejectedError{Err: errors.New("it has no pages")}
}
