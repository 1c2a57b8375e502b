package jobtypes_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// A list shows a job type as its Schedule does, right after its creation, change and pause.
func TestListIsWhatTheSchedulesSay(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	_, err := jobtypes.Of(c).Apply(t.Context(), planOf(t, c, map[string]bool{"off": false}, applied("one"), applied("two"), applied("off")))
	require.NoError(t, err)
	same := func(what string, changed func(jobtypes.JobType) bool) {
		t.Helper()
		testsuite.WaitFor(t, 20*time.Second, what, func() bool {
			listed, err := jobtypes.Of(c).List(t.Context())
			require.NoError(t, err)
			for _, known := range listed {
				exact, err := jobtypes.Of(c).Get(t.Context(), known.Name)
				require.NoError(t, err)
				exact.Counts, exact.CreatedAt, exact.UpdatedAt = jobtypes.JobTypeCounters{}, time.Time{}, time.Time{}
				known.Counts, known.CreatedAt, known.UpdatedAt = jobtypes.JobTypeCounters{}, time.Time{}, time.Time{}
				exact.Next, known.Next = exact.Next[:min(1, len(exact.Next))], known.Next[:min(1, len(known.Next))]
				if known.Name == "two" && !changed(known) {
					return false // Visibility lags.
				}
				assert.Equal(t, exact, known)
			}
			return len(listed) == 3
		})
	}
	same("all three are listed", func(jobtypes.JobType) bool { return true })
	_, err = jobtypes.Of(c).Set(t.Context(), "two", map[string]json.RawMessage{"retry_limit": json.RawMessage("7")})
	require.NoError(t, err)
	same("the changed policy is listed", func(known jobtypes.JobType) bool { return known.Spec.Policy.RetryLimit == 7 })
	require.NoError(t, jobtypes.Of(c).Pause(t.Context(), "two", "new disks"))
	same("the pause is listed", func(known jobtypes.JobType) bool { return known.Paused && known.PauseNote == "new disks" })
}
