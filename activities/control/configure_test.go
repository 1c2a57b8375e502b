package control_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
)

type dropping struct {
	control.Client
	faults []error
	asked  int
}

func (*dropping) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any, ...any) client.WithStartWorkflowOperation {
	return nil
}

func (d *dropping) UpdateWithStartWorkflow(context.Context, client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	d.asked++
	if d.asked <= len(d.faults) {
		return nil, d.faults[d.asked-1]
	}
	return taken{}, nil
}

type taken struct{ client.WorkflowUpdateHandle }

func (taken) Get(context.Context, any) error { return nil }

// A control plane must not end because the registry was continuing as new during its
// announcement.
func TestConfigureRepeatsWhatTheServerDrops(t *testing.T) {
	t.Parallel()
	dropped := serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	server := &dropping{faults: []error{dropped, dropped}}
	_, err := control.New(server, contract.FleetConfig{}).Configure(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, server.asked)

	server = &dropping{faults: []error{errors.New("no permission")}}
	_, err = control.New(server, contract.FleetConfig{}).Configure(t.Context())
	require.ErrorContains(t, err, "no permission")
	assert.Equal(t, 1, server.asked)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = control.New(&dropping{faults: []error{dropped, dropped}}, contract.FleetConfig{}).Configure(ended)
	require.ErrorContains(t, err, "unexpected workflow task failure")
}
