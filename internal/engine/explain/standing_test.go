package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// The facts accumulate: each line adds a graver one.
func TestTheGravestStateOfAJobTypeCounts(t *testing.T) {
	t.Parallel()
	since, until := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC)
	facts := explain.StandingFacts{}
	for _, row := range []struct {
		add    func()
		wanted explain.Standing
	}{
		{func() {}, explain.Standing{State: "ready"}},
		{
			func() { facts.Closed, facts.ClosedSince, facts.ClosedUntil = "it opens at 04:00", since, until },
			explain.Standing{State: "window_closed", Detail: "it opens at 04:00", Since: since, Until: until},
		},
		{func() { facts.Running = 1 }, explain.Standing{State: "running"}},
		{
			func() {
				facts.Waits = &explain.RunStanding{State: "waiting", Open: true, Cause: "group/a-1 has the lane disk"}
			},
			explain.Standing{State: "waiting", Detail: "group/a-1 has the lane disk"},
		},
		{
			func() { facts.Waits = &explain.RunStanding{State: "paused", Open: true, Cause: "by ann: new disks"} },
			explain.Standing{State: "waiting", Detail: "its run is paused by ann: new disks"},
		},
		{func() { facts.Waits = &explain.RunStanding{State: "held", Open: true} }, explain.Standing{State: "waiting", Detail: "its run is held"}},
		{func() { facts.Missing = explain.Shortage{Lack: explain.LackHandler} }, explain.Standing{State: "no_worker", Detail: "no worker is registered"}},
		{
			func() { facts.Hold = &contract.AdmissionHold{Since: since, Until: until} },
			explain.Standing{State: "disabled", Stopped: true, Detail: "its retry budget is used up", Since: since, Until: until},
		},
		{
			func() { facts.Hold.LastError = "no such disk" },
			explain.Standing{State: "disabled", Stopped: true, Detail: "its retry budget is used up: no such disk", Since: since, Until: until},
		},
		{
			func() { facts.Paused, facts.PauseNote, facts.PausedAt = true, "new disks", since },
			explain.Standing{State: "paused", Stopped: true, Detail: "new disks", Quoted: true, Since: since},
		},
		{func() { facts.PausedBy = "ann" }, explain.Standing{State: "paused", Stopped: true, Detail: "by ann: new disks", Since: since}},
		{func() { facts.PauseNote = "" }, explain.Standing{State: "paused", Stopped: true, Detail: "by ann", Since: since}},
		{func() { facts.Off = true }, explain.Standing{State: "off", Stopped: true, Detail: "the configuration has enabled: false"}},
		{func() { facts.Fault = "no such zone" }, explain.Standing{State: "fault", Stopped: true, Detail: "no such zone", Quoted: true}},
	} {
		row.add()
		standing := explain.StandingOf(facts)
		assert.Equal(t, slices.Contains([]string{"ready", "running", "waiting"}, standing.State), len(standing.Actions)+len(standing.Actor) == 0, standing.State)
		if standing.Code != "" {
			assert.Equal(t, string(standing.Code)+": "+standing.Detail, standing.Line())
		}
		standing.Code, standing.Actions, standing.Actor = "", nil, ""
		assert.Equal(t, row.wanted, standing)
	}
}
