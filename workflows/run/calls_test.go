package run

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

// TestAKilledControlPlaneDelaysTheNextTaskLittle: the call that ends one workflow task is repeated as soon as other such calls.
func TestAKilledControlPlaneDelaysTheNextTaskLittle(t *testing.T) {
	t.Parallel()
	env := envtest.New()
	var timeout time.Duration
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		timeout = activity.GetInfo(ctx).StartToCloseTimeout
		return nil
	}, activity.RegisterOptions{Name: contract.NoopActivity})
	env.ExecuteWorkflow(func(ctx workflow.Context) error { return callNextTask(ctx).Get(ctx, nil) })
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, noopTimeout, timeout)
}
