package calendar

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestMemoryReadsAnEndedRunOnce(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asked := map[string]int{}
	read := func(_ context.Context, ref starter.RunRef) (starter.Snapshot, error) {
		asked[ref.WorkflowID]++
		snapshot := starter.Snapshot{Run: starter.Run{RunRef: ref, Status: "Completed"}}
		switch ref.WorkflowID {
		case "group/scrub-3":
			snapshot.Status = starter.StatusRunning
		case "group/scrub-1":
			snapshot.Result = &contract.JobGroupResult{Record: contract.RunRecord{Good: []contract.RunSummary{{StartedAt: began, EndedAt: began.Add(time.Minute)}}}}
		}
		return snapshot, nil
	}
	run := func(id string) jobtypes.ScheduledRun {
		return jobtypes.ScheduledRun{RunRef: starter.RunRef{WorkflowID: id}}
	}
	// The newest run is open, the next was terminated.
	scrub := jobtypes.JobType{Name: "scrub", Recent: []jobtypes.ScheduledRun{run("group/scrub-3"), run("group/scrub-2"), run("group/scrub-1")}}
	var m Memory
	for range 3 {
		last, err := m.last(t.Context(), scrub, read)
		require.NoError(t, err)
		assert.Equal(t, time.Minute, last.usual.Took.Std())
		assert.Equal(t, 1, last.usual.Of)
	}
	assert.Equal(t, map[string]int{"group/scrub-3": 3, "group/scrub-2": 1, "group/scrub-1": 1}, asked)
	again := scrub
	again.Recent = []jobtypes.ScheduledRun{run("group/scrub-2")}
	again.Recent[0].RunID = "started again by a backfill"
	_, err := m.last(t.Context(), again, read)
	require.NoError(t, err)
	assert.Equal(t, 2, asked["group/scrub-2"])
	scrub.Recent = scrub.Recent[:1]
	m.forget([]jobtypes.JobType{scrub})
	assert.Empty(t, m.left)
}

// TestAForecastIsShared by all that call for it at the same time. A later caller gets one that began after its call, and
// a caller that leaves ends no forecast.
func TestAForecastIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		computed, turn := 0, make(chan struct{})
		call := func(ctx context.Context, answers chan<- error) {
			go func() {
				called := time.Now()
				found, err := m.shared(ctx, "168h", func(ctx context.Context, now time.Time) (Forecast, error) {
					computed++
					select {
					case <-turn:
						return Forecast{AsOf: now}, nil
					case <-ctx.Done():
						return Forecast{}, ctx.Err()
					}
				})
				if err == nil {
					assert.False(t, found.AsOf.Before(called))
				}
				answers <- err
			}()
		}
		answers, left := make(chan error, 20), make(chan error, 1)
		leaving, leave := context.WithCancel(t.Context())
		call(leaving, left)
		synctest.Wait()
		for range 10 {
			call(t.Context(), answers)
		}
		time.Sleep(time.Second)
		for range 10 {
			call(t.Context(), answers)
		}
		synctest.Wait()
		assert.Equal(t, 1, computed)
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		turn <- struct{}{}
		synctest.Wait()
		assert.Len(t, answers, 10)
		assert.Equal(t, 2, computed, "one for all later callers")
		turn <- struct{}{}
		for range 20 {
			require.NoError(t, <-answers)
		}
		assert.Equal(t, 2, computed)
	})
}

// TestAForecastOfOne leaves the shared one as it is.
func TestAForecastOfOne(t *testing.T) {
	t.Parallel()
	all := Forecast{Ticks: []ForecastTick{{JobType: "a"}, {JobType: "b"}}, Types: []ForecastType{{JobType: "a"}, {JobType: "b"}}}
	one := all.of([]string{"b"})
	assert.Equal(t, []ForecastTick{{JobType: "b"}}, one.Ticks)
	assert.Equal(t, []ForecastType{{JobType: "b"}}, one.Types)
	copied := all.of(nil)
	clear(copied.Ticks)
	assert.Equal(t, []ForecastTick{{JobType: "a"}, {JobType: "b"}}, all.Ticks)
	assert.NotNil(t, Forecast{}.of(nil).Ticks)
}
