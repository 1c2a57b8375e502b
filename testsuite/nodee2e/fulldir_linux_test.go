package nodee2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAFullDataDirectoryIsReported: the worker continues, and doctor, status and explain
// name the directory until there is room again.
func TestAFullDataDirectoryIsReported(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	disk := smallDisk(t, "16m")
	s.Start("worker", "--id", "node-a", "--data-dir", disk)
	s.AwaitFresh("node-a")
	assert.Equal(t, "ok", doctor(t, s.Site, "workers").Verdict)

	free := fill(t, disk)
	seen := s.Await("node-a", "full", func(w contract.WorkerDetail) bool { return w.Trouble != nil })
	assert.Equal(t, contract.CodeDiskFull, seen.Trouble.Code)
	check := doctor(t, s.Site, "workers")
	assert.Equal(t, "warn", check.Verdict)
	assert.Contains(t, check.Found, disk)
	assert.Contains(t, s.Command("status"), "DISK_FULL")
	assert.Contains(t, s.Command("explain", "node-a"), "make room on its disk")
	assert.Contains(t, s.Command("workers"), "ONLINE, DISK_FULL")

	free()
	testsuite.WaitFor(t, contract.DiskFullTime+time.Minute, "the end of the warning", func() bool {
		w, err := s.Client.Workers().Get(t.Context(), "node-a")
		return err == nil && w.Trouble == nil
	})
}
