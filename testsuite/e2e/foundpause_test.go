package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// TestApplyRecordsAPauseThatItFinds: apply records a pause made with Temporal's own tools, once, with the
// sender from the server.
func TestApplyRecordsAPauseThatItFinds(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite())
	ctx := t.Context()
	spec := siteSpec(t, "tidy", "", at("x"))
	spec.Schedule, spec.Hash = contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, "1"
	spec.Policy.CatchupWindow = jobtype.Duration(time.Minute)
	apply := func() {
		t.Helper()
		plan, err := jobtypes.Of(p.client).Plan(ctx, []contract.JobTypeSpec{spec}, nil)
		require.NoError(t, err)
		_, err = jobtypes.Of(p.client).Apply(ctx, plan)
		require.NoError(t, err)
	}
	apply()
	schedule := p.dial("temporal-cli:bob@couch").Temporal().ScheduleClient().GetHandle(ctx, contract.ScheduleID("tidy"))
	began := time.Now().Add(-time.Second)
	require.NoError(t, schedule.Pause(ctx, client.SchedulePauseOptions{Note: "no power"}))
	paused := time.Now().Add(time.Second)
	_, err := jobtypes.Of(p.client).RunNow(ctx, "tidy") // This patch is no pause.
	require.NoError(t, err)
	known, err := jobtypes.Of(p.client).Get(ctx, "tidy")
	require.NoError(t, err)
	assert.Equal(t, []string{"no power", "bob"}, []string{known.PauseNote, known.PausedBy})
	assert.True(t, known.PausedAt.After(began) && known.PausedAt.Before(paused), "%s", known.PausedAt)

	apply()
	found := audited(t, p.client, "jobtype.pause", contract.ScheduleID("tidy"))
	assert.Equal(t, []string{"bob", "couch (temporal CLI)", "paused: no power"}, []string{found.Actor, found.From, found.After})
	assert.Contains(t, found.Detail, "found paused by apply")
	apply()
	spec.Hash = "2"
	apply()

	require.NoError(t, schedule.Unpause(ctx, client.ScheduleUnpauseOptions{}))
	require.NoError(t, jobtypes.Of(p.client.As("ann", nil)).Pause(ctx, "tidy", "new disks"))
	apply()
	log, err := p.client.Audit().Read(ctx, contract.AuditFilter{Object: contract.ScheduleID("tidy")})
	require.NoError(t, err)
	var pauses []string
	for _, entry := range log.Entries {
		if entry.Action == "jobtype.pause" {
			pauses = append(pauses, entry.Actor)
		}
	}
	assert.ElementsMatch(t, []string{"bob", "ann"}, pauses, "each once")
}
