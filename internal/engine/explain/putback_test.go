package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
)

func putBack(e contract.AuditEntry) string {
	e.Kind = contract.AuditOperator
	back := explain.PutBackOf(e)
	if back.Action != nil {
		return back.Action.Command
	}
	return back.None
}

func TestEachEntryIsRevertedToTheStateBefore(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ action, object, before, want string }{
		{"pool.resize", "pool/db", "size: 3", "roundsman set pool/db size=0"},
		{"pool.resize", "pool/db", "size: 5 (resized)", "roundsman set pool/db size=5"},
		{"pool.resize", "pool/db", "", "its former size is not known"},
		{"worker.resize", "worker/n", "detect: 1; execute: 4", "roundsman set n max_execute="},
		{"worker.resize", "worker/n", "detect: 2; execute: 4 (resized)", "roundsman set n max_execute=4 max_detect=2"},
		{"worker.uncordon", "worker/n", "CORDONED", "roundsman pause n"},
		{"worker.uncordon", "worker/n", "DRAINING", "roundsman drain n"},
		{"worker.uncordon", "worker/n", "ONLINE", "nothing held it back before"},
		{"worker.cordon", "worker/n", "", "roundsman resume n"},
		{"worker.remove", "worker/n", "", "it registers when it lives"},
		{"run.pause", "group/a", "", "roundsman resume group/a"},
		{"dag.resume", "dag/a/b", "", "roundsman pause dag/a/b"},
		{"key.create", "key/a", "", "revoke the key instead"},
		{"sessions.end", "sessions/ann", "", "an end is final"},
		{"run.cancel", "group/a", "", "an end is final"},
		{"dag.approve", "dag/a/b", "", "its effects have begun"},
		{"hold.mark-done", "jobtype/scrub/key /srv/key a", "", "roundsman resume scrub:'/srv/key a'"},
		{"jobtype.pause", "jobtype/scrub", "", "roundsman resume scrub"},
	} {
		assert.Equal(t, row.want, putBack(contract.AuditEntry{Action: row.action, Object: row.object, Before: row.before, JobType: "scrub"}), "%+v", row)
	}
	assert.Equal(t, "changed again since", putBack(contract.AuditEntry{Action: "jobtype.pause", Superseded: true}))
	assert.Nil(t, explain.PutBackOf(contract.AuditEntry{Kind: contract.AuditScheduler}))
}

// Settings are set one by one if an operator may set each; otherwise the log restores all of
// them.
func TestSettingsAreReverted(t *testing.T) {
	t.Parallel()
	e := contract.AuditEntry{Seq: 7, Action: "jobtype.set", Object: "jobtype/scrub", JobType: "scrub"}
	e.Before, e.After = "policy.retry_limit: 2; policy.max_runtime: 2h; schedule: every 8h offset 10m", "policy.retry_limit: 0; policy.max_runtime: 1h; schedule: every 4h"
	assert.Equal(t, "roundsman set scrub every=8h max_runtime=2h retry_limit=2", putBack(e))
	e.Before, e.After, e.Restorable = "schedule: every 2h offset 5m", "schedule: every 3h offset 5m", true
	assert.Equal(t, "roundsman set scrub every=2h", putBack(e))
	e.After = "schedule: every 3h offset 5m jitter 5m"
	assert.Equal(t, "roundsman set scrub --restore 7", putBack(e), "nobody can set the jitter on its own")
	spread := func(every jobtype.Duration) string {
		return "schedule: every " + every.String() + " offset " + contract.SpreadOffset("scrub", every).String()
	}
	e.Before, e.After = spread(jobtype.Duration(2*time.Hour)), spread(jobtype.Duration(3*time.Hour))
	assert.Equal(t, "roundsman set scrub every=2h", putBack(e), "the offset follows from the length")
	for _, change := range [][2]string{
		{"", ""},
		{"policy.retry_limit: 2; description: Moves; volumes", ""},
		{"policy.on_deadline: (none)", ""},
		{"policy.retry_limit: 2; policy.max_runt…", ""},
		{"schedule: cron 0 2 * * *", "schedule: every 8h"},
		{"schedule: every 8h", "schedule: cron 0 2 * * *"},
		{"schedule: every 8h or cron 0 2 * * *", "schedule: every 8h"},
	} {
		for _, action := range []string{"jobtype.set", "apply.update", "apply.drift", "apply.delete", contract.AuditRestore} {
			e.Action, e.Before, e.After, e.Restorable = action, change[0], change[1], true
			assert.Equal(t, "roundsman set scrub --restore 7", putBack(e), change)
			e.Restorable = false
			assert.Equal(t, "not kept: apply the former file", putBack(e), change)
		}
	}
}
