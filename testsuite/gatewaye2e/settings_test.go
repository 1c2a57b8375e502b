package gatewaye2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// thresholds waits until the registry's answer satisfies is.
func (s *site) thresholds(what string, is func(contract.ThresholdsResult) bool) (seen contract.ThresholdsResult) {
	s.T.Helper()
	testsuite.WaitFor(s.T, 30*time.Second, what, func() bool {
		found, err := s.Client.Workers().Thresholds(s.T.Context())
		seen = found
		return err == nil && is(found)
	})
	return seen
}

// TestAControlPlaneWithoutThresholdsLeavesTheAppliedOnes: they also survive a termination of the registry.
// `doctor` names such a control plane next to one with thresholds.
func TestAControlPlaneWithoutThresholdsLeavesTheAppliedOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	declaring := s.Processes[0]
	scaled := jobtype.Duration(5 * time.Second)
	s.thresholds("the thresholds of the file", func(found contract.ThresholdsResult) bool { return found.Config.UnreachableAfter == scaled })

	s.Play("roundsman", "server", "--address", s.Server.Address())
	both := s.thresholds("both control planes", func(found contract.ThresholdsResult) bool { return len(found.Planes) == 2 })
	assert.Equal(t, scaled, both.Config.UnreachableAfter)
	p := s.Start("doctor")
	p.Code(t, time.Minute)
	for _, text := range []string{both.Planes[0].Identity + " and " + both.Planes[1].Identity + " differ in fleet (", "against none"} {
		assert.Contains(t, p.Stdout.String(), text)
	}

	declaring.Kill()
	require.NoError(t, s.Client.Temporal().TerminateWorkflow(t.Context(), contract.FleetWorkflowID, "", "test"))
	again := s.thresholds("another registry", func(found contract.ThresholdsResult) bool { return found.Configured && len(found.Planes) == 1 })
	assert.Equal(t, scaled, again.Config.UnreachableAfter, "the one before had them")

	other := filepath.Join(s.Dir, "other.yaml")
	require.NoError(t, os.WriteFile(other, []byte("version: 1\nfleet: {unreachable_after: 3m}\n"), 0o600))
	s.Play("roundsman", "server", "--address", s.Server.Address(), "--config", other)
	testsuite.WaitFor(t, 30*time.Second, "the audit log names who changed the thresholds", func() bool {
		found, err := s.Client.Audit().Read(t.Context(), contract.AuditFilter{Object: contract.FleetWorkflowID, Actor: starter.SystemUser()})
		return err == nil && slices.ContainsFunc(found.Entries, func(e contract.AuditEntry) bool {
			return e.Action == "fleet.configure" && strings.HasPrefix(e.Detail, "by the file of control plane ")
		})
	})
}
