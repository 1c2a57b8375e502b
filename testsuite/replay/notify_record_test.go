package replay_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
	"github.com/roundsman/roundsman/workflows"
)

// receivers are one that accepts all notifications and one that refuses all.
func receivers() config.Notify {
	command := func(program string) receiver.Receiver {
		return receiver.Receiver{Command: &receiver.Command{Argv: []string{program}}}
	}
	return config.Notify{
		Receivers: receiver.Receivers{"takes": command("true"), "refuses": command("false")},
		Rules:     []contract.NotifyRule{{On: []contract.NotifyEvent{contract.NotifyFailed}, To: []string{"takes", "refuses"}}},
	}
}

// notifications saves the notifier's history with a failed group and a test.
func (s *studio) notifications() {
	s.t.Helper()
	id, err := s.client.Notifications().Test(s.t.Context(), "takes")
	require.NoError(s.t, err)
	testsuite.WaitFor(s.t, time.Minute, "the test is delivered, and the other receiver was tried twice", func() bool {
		view, err := s.client.Notifications().View(s.t.Context())
		return err == nil && len(view.Receivers) == 2 && view.Receivers[0].Failures > 1 &&
			slices.ContainsFunc(view.Deliveries, func(d contract.DeliveryView) bool { return d.ID == id && d.State == contract.DeliverySent })
	})
	s.keep(replay.Name{Workflow: contract.NotificationsWorkflow, Version: workflows.NotifyVersion, Scenario: "receivers"}, contract.NotificationsWorkflowID, "")
}

// TestRecordNotifications records the notifier on request.
func TestRecordNotifications(t *testing.T) {
	if !*record {
		t.Skip("run with -record")
	}
	require.NoError(t, os.RemoveAll(testdata+"/notifications"))
	s := newStudio(t)
	_, err := s.client.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: contract.GroupWorkflowID("broken"), TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: contract.JobTypeSpec{
		Name: "broken", Handler: "actor", Params: []byte(`{"fail":true}`), Policy: jobtype.Policy{}.WithDefaults(),
	}})
	require.NoError(t, err)
	s.notifications()
}
