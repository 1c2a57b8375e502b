package nodee2e

import (
	"encoding/json"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/reboot"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestMayReboot: jobs run on a node whose process is frozen. No answer permits a reboot, neither while open runs have jobs
// there nor after they have lost them.
func TestMayReboot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	address := sites.FreeAddress(t)
	s.Start("server", "--http", address)
	s.hold("work")
	s.apply(group{"work", "steps", "heartbeat_timeout: 4s, liveness: process, global_execution_concurrency: 3, per_worker_execution_concurrency: 3", 3, 2, 50})
	frozen := s.worker("node-a")
	s.AwaitFresh("node-a")
	s.awaitReboot("node-a", reboot.WorkWaits) // Only node-a has the handler.
	ref := s.Begin("work")
	s.awaitBook("three jobs run", func(b book) bool { return len(b.of("step")) == 3 })
	s.worker("node-b")
	s.AwaitFresh("node-b")
	busy := s.mayReboot("node-a")
	assert.Equal(t, reboot.DrainFirst, busy.Code)
	assert.Equal(t, 3, busy.Running)
	s.awaitReboot("node-b", reboot.Free)

	frozen.Signal(t, syscall.SIGSTOP)
	silent := s.mayReboot("node-a")
	assert.Equal(t, reboot.NotKnown, silent.Code)
	assert.False(t, silent.Reported)
	assert.Len(t, silent.Attempts, 3, "%+v", silent)
	// A checkpoint that was sent before the freeze leaves node-b no step until the jobs are let go.
	s.awaitBook("node-b has the jobs", func(b book) bool { return len(b.of("start").on("node-b")) >= 3 })
	var lost workerview.Reboot
	testsuite.WaitFor(t, time.Minute, "the runs have lost the three attempts", func() bool {
		lost = s.mayReboot("node-a")
		return lost.Running == 0
	})
	assert.Equal(t, reboot.NotKnown, lost.Code)
	require.Len(t, lost.Attempts, 3, "%+v", lost)
	for _, attempt := range lost.Attempts {
		assert.True(t, attempt.Lost)
		assert.Equal(t, ref.WorkflowID, attempt.Run)
		assert.False(t, attempt.StartedAt.IsZero())
	}
	assert.Contains(t, s.Command("show", "node-a"), "NOT_KNOWN: its process sends no report, 3 lost attempts may still run")
	assert.Contains(t, s.Command("drain", "node-a", "--dry-run"), "NOT_KNOWN: ")
	var answer workerview.Reboot
	testsuite.WaitFor(t, time.Minute, "the API answers", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/workers/node-a/reboot", http.NoBody)
		require.NoError(t, err)
		response, err := (&http.Client{}).Do(request)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode == http.StatusOK && json.Unmarshal(body, &answer) == nil
	})
	assert.Equal(t, lost, answer, "one answer for all")
	frozen.Kill()
	s.letGo()
	s.Result(ref)
}

// awaitReboot is for a worker that has just started: its process reports after its first heartbeat.
func (s *site) awaitReboot(id string, code reboot.Code) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, id+": "+string(code), func() bool { return s.mayReboot(id).Code == code })
}

// mayReboot is the verdict of `workers show`. It is read again if the control plane is slow.
func (s *site) mayReboot(id string) workerview.Reboot {
	s.T.Helper()
	var shown struct {
		Reboot workerview.Reboot `json:"reboot"`
	}
	testsuite.WaitFor(s.T, time.Minute, "the verdict on "+id, func() bool {
		asked := s.Start("show", id, "--output", "json")
		return asked.Code(s.T, time.Minute) == 0 && json.Unmarshal([]byte(asked.Stdout.String()), &shown) == nil
	})
	return shown.Reboot
}

// TestALostAttemptStaysOnItsNode: the only worker is frozen, so a lost job waits for a place. Its attempt may still run there.
func TestALostAttemptStaysOnItsNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Start("server")
	s.hold("work")
	s.apply(group{"work", "steps", "heartbeat_timeout: 4s, liveness: process, global_execution_concurrency: 2, per_worker_execution_concurrency: 2", 2, 2, 50})
	frozen := s.worker("node-a")
	s.AwaitFresh("node-a")
	ref := s.Begin("work")
	s.awaitBook("two jobs run", func(b book) bool { return len(b.of("step")) == 2 })
	frozen.Signal(t, syscall.SIGSTOP)
	testsuite.WaitFor(t, time.Minute, "both jobs wait", func() bool {
		items, _, err := s.Client.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{contract.JobPending}})
		return err == nil && len(items) == 2
	})
	var lost workerview.Reboot
	testsuite.WaitFor(t, time.Minute, "both attempts are lost", func() bool {
		lost = s.mayReboot("node-a")
		return len(lost.Attempts) == 2
	})
	assert.Equal(t, reboot.NotKnown, lost.Code)
	for _, attempt := range lost.Attempts {
		assert.True(t, attempt.Lost)
	}
	assert.Contains(t, s.Command("drain", "node-a", "--dry-run"), "2 lost attempts may still run")
	frozen.Kill()
	s.letGo()
	s.worker("node-a")
	s.Result(ref)
}
