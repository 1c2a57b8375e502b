package jobtypes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/starter"
)

// deletions is a server without job types, whose audit log has entries.
type deletions struct {
	client.Client

	entries []contract.AuditEntry
}

type noSchedules struct {
	workflowservice.WorkflowServiceClient
}

func (noSchedules) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	return nil, serviceerror.NewNotFound("no such Schedule")
}

func (*deletions) WorkflowService() workflowservice.WorkflowServiceClient { return noSchedules{} }

func (d *deletions) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	payloads, err := starter.DataConverter().ToPayloads(contract.AuditPage{Entries: d.entries})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestEachDeletionIsAnotherVersion, so that a repeated restore does not undo the deletion after its first attempt.
func TestEachDeletionIsAnotherVersion(t *testing.T) {
	t.Parallel()
	packed, err := pack.JSON(former{Spec: contract.JobTypeSpec{Name: "scrub"}})
	require.NoError(t, err)
	server := &deletions{}
	types := Of(starter.New(server, "", nil))
	versions := map[string]bool{}
	for n := range int64(3) {
		version, err := types.SettingsVersion(t.Context(), "scrub")
		require.NoError(t, err)
		versions[version] = true
		again, err := types.SettingsVersion(t.Context(), "scrub")
		require.NoError(t, err)
		assert.Equal(t, version, again)
		server.entries = append(server.entries, contract.AuditEntry{Seq: n + 1, JobType: "scrub", Action: "apply.delete", Former: packed})
	}
	assert.Len(t, versions, 3)
	restored, err := types.IsRestored(t.Context(), "scrub", 1)
	require.NoError(t, err)
	assert.False(t, restored, "it is deleted")
}
