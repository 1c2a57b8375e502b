package calendar

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Memory keeps the usual durations of job types between forecasts. It saves two of three calls per job type.
type Memory struct {
	flight singleflight.Group

	mu   sync.Mutex
	left map[starter.RunRef]lastRun
}

// forecastWithin bounds a forecast, whose callers may have left.
const forecastWithin = time.Minute

// shared computes a forecast once for all callers that wait for it. A forecast that began before the call may miss a
// change, so its caller waits for the next one.
func (m *Memory) shared(ctx context.Context, key string, compute func(ctx context.Context, now time.Time) (Forecast, error)) (Forecast, error) {
	for called := time.Now(); ; {
		answer := m.flight.DoChan(key, func() (any, error) {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), forecastWithin)
			defer cancel()
			return compute(limited, time.Now().UTC())
		})
		select {
		case <-ctx.Done():
			return Forecast{}, context.Cause(ctx)
		case result := <-answer:
			found, _ := result.Val.(Forecast)
			if result.Err != nil || !found.AsOf.Before(called) {
				return found, result.Err
			}
		}
	}
}

type lastRun struct {
	usual   contract.Usual
	success time.Time
}

type show func(ctx context.Context, ref starter.RunRef) (starter.Snapshot, error)

func (m *Memory) last(ctx context.Context, of jobtypes.JobType, read show) (lastRun, error) {
	var newest lastRun
	for _, run := range of.Recent {
		m.mu.Lock()
		found, remembered := m.left[run.RunRef]
		m.mu.Unlock()
		if !remembered {
			snapshot, err := read(ctx, starter.RunRef{WorkflowID: run.WorkflowID})
			if err != nil || snapshot.Open() {
				continue
			}
			if snapshot.Result != nil {
				found = lastRun{duration.UsualOf(snapshot.Result.Record.Good), snapshot.Result.Record.LastSuccess}
			}
			m.remember(run.RunRef, found)
		}
		if newest.success.IsZero() {
			newest.success = found.success
		}
		if found.usual.Of > 0 {
			newest.usual = found.usual
			return newest, nil
		}
	}
	return newest, ctx.Err()
}

func (m *Memory) remember(run starter.RunRef, last lastRun) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == nil {
		m.left = map[starter.RunRef]lastRun{}
	}
	m.left[run] = last
}

func (m *Memory) forget(listed []jobtypes.JobType) {
	recent := map[starter.RunRef]bool{}
	for _, known := range listed {
		for _, run := range known.Recent {
			recent[run.RunRef] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for run := range m.left {
		if !recent[run] {
			delete(m.left, run)
		}
	}
}
