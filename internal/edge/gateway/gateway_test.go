package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The text is for people; the problem's holder has the exact times.
func TestWhoHasAnIDIsToldInSeconds(t *testing.T) {
	t.Parallel()
	holder := &contract.RegisteredOther{Host: "vm", PID: 7, Age: jobtype.Duration(32212196103), SinceBeat: jobtype.Duration(3 * time.Second)}
	refused := inUse("press-7", holder)
	assert.Equal(t, "process 7 on host vm has the id press-7, registered 32s ago, last heartbeat at most 3s ago", refused.Message)
	assert.Equal(t, holder, refused.Holder)
	assert.GreaterOrEqual(t, refused.RetryAfter, time.Second)
}

// Each process that registers is another incarnation, so the answers about those that are gone are dropped.
func TestAnswersAboutWorkersThatNoLongerCallAreDropped(t *testing.T) {
	t.Parallel()
	f, at := newFleet(nil), time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	stays := contract.Incarnation{ID: "stays", Instance: "a"}
	known := contract.WorkerSettings{Known: true}
	for i := range 1000 {
		f.keep(map[contract.Incarnation]contract.WorkerSettings{
			stays: known, {ID: "press", Instance: fmt.Sprint(i)}: known, {ID: "unknown"}: {},
		}, at.Add(time.Duration(i)*time.Minute))
	}
	assert.Contains(t, f.last, stays)
	assert.Len(t, f.last, 62, "those of the last hour, and the one that stays")
	f.keep(map[contract.Incarnation]contract.WorkerSettings{stays: {}}, at.Add(1000*time.Minute))
	assert.NotContains(t, f.last, stays)
}

func TestAFailureThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	hour := jobtype.Duration(time.Hour)
	for name, row := range map[string]struct {
		lease leased
		in    Failure
	}{
		"a deferral to the past":         {in: Failure{Defer: -1}},
		"a deferral below a second":      {in: Failure{Defer: jobtype.MinDeferral - 1}},
		"a deferral of days":             {in: Failure{Defer: jobtype.MaxDeferral + 1}},
		"a guard without a deferral":     {in: Failure{Guard: true}},
		"deferred and never again":       {in: Failure{Defer: hour, Permanent: true}},
		"the deferral of a detection":    {leased{Detection: true}, Failure{Defer: hour}},
		"a checkpoint that is too large": {in: Failure{Checkpoint: make([]byte, jobtype.MaxCheckpointBytes+1)}},
	} {
		err := Lease{leased: row.lease}.Fail(t.Context(), row.in)
		var refused *Error
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, CodeInvalid, refused.Code, name)
	}
}
