package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// runningOnEvery is a group with jobs on the first worker that has found nothing on the others. One more is OFFLINE.
func runningOnEvery(tb testing.TB, workers, jobs int) *script {
	tb.Helper()
	fleet := []contract.WorkerView{node("w00000", 4)}
	for i := range workers - 1 {
		fleet = append(fleet, node(fmt.Sprintf("w%05d", i+1), 4))
	}
	fleet = append(fleet, offline("x"))
	s := &script{t: tb, now: epoch, workers: fleet, g: New(Config{
		JobType: "jt", Handler: "h", DetectEvery: true,
		Policy: jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4, MaxJobsPerDetection: jobs}.WithDefaults(),
	}, epoch)}
	s.begin()
	found := make([]jobtype.Proposal, jobs)
	for i := range found {
		found[i].DedupeKey = fmt.Sprint(i)
	}
	for open := detections(s.last); len(open) > 0; {
		next := map[int]string{}
		for attempt, worker := range open {
			end := DetectionEnded{Attempt: attempt}
			if worker == "w00000" {
				end.Proposals, end.Emitted = found, jobs
			}
			s.step(end)
			maps.Copy(next, detections(s.last))
		}
		open = next
	}
	require.Equal(tb, PhaseRunning, s.g.Phase())
	return s
}

// pass ends a job, and reads the data that the workflow reads then.
func (s *script) pass(job int) {
	s.now = s.now.Add(time.Millisecond)
	s.g.Next(s.now, run.Ended{Item: job, Attempt: 1, Ending: run.Ending{Duration: time.Millisecond}})
	s.g.NextWake()
}

// TestAnEventThatChangesNoWorkerLooksAtNone counts the looks at all workers: each one writes its time.
func TestAnEventThatChangesNoWorkerLooksAtNone(t *testing.T) {
	t.Parallel()
	s := runningOnEvery(t, 10, 100)
	mark, looks := epoch.Add(time.Hour), 0
	after := func(step func()) int {
		s.g.looked.Due = mark
		step()
		if !s.g.looked.Due.Equal(mark) {
			looks++
		}
		return looks
	}
	see := func(change func(workers []contract.WorkerView)) func() {
		return func() {
			s.workers = slices.Clone(s.workers)
			change(s.workers)
			s.ran(run.WorkersChanged{Workers: s.workers})
		}
	}
	s.pass(1)
	for job := 2; job < 60; job++ {
		require.Zero(t, after(func() { s.pass(job) }), "a job ended")
	}
	assert.Zero(t, after(see(func(workers []contract.WorkerView) { workers[3].Beat++ })), "a heartbeat")
	assert.Equal(t, 1, after(see(func(workers []contract.WorkerView) { workers[3].State = contract.WorkerDraining })))
	assert.Equal(t, 2, after(see(func(workers []contract.WorkerView) { workers[len(workers)-1] = node("x", 1) })), "a worker is back")
	assert.Len(t, detections(s.last), 1)
}

// BenchmarkEndOfAJob with detect_on: every.
func BenchmarkEndOfAJob(b *testing.B) {
	for _, workers := range []int{10, 1_000} {
		b.Run(fmt.Sprintf("%d workers", workers), func(b *testing.B) {
			s := runningOnEvery(b, workers, b.N+10)
			s.pass(1)
			b.ReportAllocs()
			b.ResetTimer()
			for job := range b.N {
				s.pass(job + 2)
			}
		})
	}
}
