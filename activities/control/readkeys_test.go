package control_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	sdktest "go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// pageServer has the pages of a run.
type pageServer struct {
	temporal

	calls pageCalls
}

func (s *pageServer) WorkflowService() workflowservice.WorkflowServiceClient { return &s.calls }

type pageCalls struct {
	workflowservice.WorkflowServiceClient

	pages map[string][]byte
	reads int
	fault error
}

func (s *pageCalls) GetWorkflowExecutionHistory(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	s.reads++
	data, known := s.pages[in.GetExecution().GetWorkflowId()]
	switch {
	case s.fault != nil:
		return nil, s.fault
	case !known:
		return nil, serviceerror.NewNotFound("no such page")
	}
	input, err := converter.GetDefaultDataConverter().ToPayloads(data)
	started := &history.WorkflowExecutionStartedEventAttributes{Input: input}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &history.History{Events: []*history.HistoryEvent{{
		Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: started},
	}}}}, err
}

// put stores bytes and returns the name of their page.
func (s *pageServer) put(data []byte) string {
	name := contract.PageName(data)
	s.calls.pages[contract.PageWorkflowID("group/g", name)] = data
	return name
}

// TestKeysAreReadFromPages, each of them once. A job of a lost page has none. A
// server that does not answer fails the activity instead.
func TestKeysAreReadFromPages(t *testing.T) {
	t.Parallel()
	server := &pageServer{calls: pageCalls{pages: map[string][]byte{}}}
	list := []jobtype.Proposal{{DedupeKey: "a"}, {}, {DedupeKey: "c"}, {DedupeKey: "d"}}
	packed, err := pages.PackProposals(list)
	require.NoError(t, err)
	whole, damaged := server.put(packed), server.put([]byte("?"))
	c := control.New(server, contract.FleetConfig{})
	read := func(refs ...contract.ProposalRun) ([]uint64, error) {
		var suite sdktest.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		control.Register(env, c)
		value, err := env.ExecuteActivity(contract.ReadKeysActivity, contract.ReadKeysInput{Run: "group/g", JobType: "jt", Refs: refs})
		if err != nil {
			return nil, err
		}
		var out []byte
		require.NoError(t, value.Get(&out))
		return admission.UnpackKeys(out)
	}
	hash := func(key string) uint64 { return contract.DedupeHash("jt", key) }

	hashes, err := read(
		contract.ProposalRun{Page: whole, Position: 2, Count: 2}, contract.ProposalRun{Page: "gone", Position: 7, Count: 2},
		contract.ProposalRun{Page: damaged, Position: 0, Count: 1}, contract.ProposalRun{Page: whole, Position: 0, Count: 2}, contract.ProposalRun{Page: whole, Position: 3, Count: 2},
	)
	require.NoError(t, err)
	assert.Equal(t, []uint64{hash("c"), hash("d"), 0, 0, 0, hash("a"), 0, hash("d"), 0}, hashes)
	assert.Equal(t, 3, server.calls.reads)

	server.calls.fault = errors.New("the server is away")
	_, err = read(contract.ProposalRun{Page: "gone", Count: 1})
	require.ErrorContains(t, err, "the server is away")
	hashes, err = read(contract.ProposalRun{Page: whole, Count: 1})
	require.NoError(t, err, "it is kept")
	assert.Equal(t, []uint64{hash("a")}, hashes)
}
