package workerview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workerpb "go.temporal.io/api/worker/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/internal/engine/reboot"
	"github.com/roundsman/roundsman/starter"
)

// TestAttemptsOfAReport: an attempt that only reports is as good as over, and nothing known ends a zombie.
func TestAttemptsOfAReport(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	job := func(id string, state contract.WorkerJobState) contract.WorkerJob {
		return contract.WorkerJob{JobID: id, GroupID: "group/scrub-1", JobType: "scrub", State: state, StartedAt: at, Percent: 40}
	}
	detection := job("", contract.WorkerJobRunning)
	detection.Detection = true
	want := func(id, jobType string, percent float64, detection bool) attempt {
		return attempt{duration.Running{JobID: id, WorkflowID: "group/scrub-1", StartedAt: at, Attempt: duration.Attempt{Percent: percent}}, jobType, detection}
	}
	report := contract.WorkerReport{Omitted: 3, Jobs: []contract.WorkerJob{
		job("runs", contract.WorkerJobRunning), job("ends", contract.WorkerJobEnding), job("reports", contract.WorkerJobReporting), job("ignores", contract.WorkerJobZombie), detection,
	}}
	item := starter.Item{ID: "old", Run: starter.RunRef{WorkflowID: "group/scrub-1"}}
	attempts, omitted := attemptsOn(ShownWorker{Report: &report, Items: []starter.Item{item}})
	assert.Equal(t, []attempt{want("runs", "scrub", 40, false), want("ends", "scrub", 40, false), want("reports", "scrub", 100, false), want("ignores", "", -1, false), want("", "scrub", 40, true)}, attempts)
	assert.Equal(t, 3, omitted)
}

// TestAttemptsWithoutAReport are those of the open runs.
func TestAttemptsWithoutAReport(t *testing.T) {
	t.Parallel()
	at, run := time.Unix(1_800_000_000, 0), starter.RunRef{WorkflowID: "group/scrub-2026-11-20T09:00:00Z"}
	items := []starter.Item{
		{ID: "job-00001", Run: run, StartedAt: at, Active: &starter.ActiveItem{Progress: &contract.Heartbeat{Percent: 70}}},
		{ID: "job-00002", Run: run, StartedAt: at, Active: &starter.ActiveItem{}},
		{ID: "job-00003", Run: run, StartedAt: at},
	}
	attempts, omitted := attemptsOn(ShownWorker{Items: items})
	assert.Zero(t, omitted)
	for k, percent := range []float64{70, -1, -1} {
		assert.Equal(t, attempt{duration.Running{JobID: items[k].ID, WorkflowID: run.WorkflowID, StartedAt: at, Attempt: duration.Attempt{Percent: percent}}, "scrub", false}, attempts[k])
	}
}

// TestALoadAddsUpBothQueues and has the time of the newer heartbeat.
func TestALoadAddsUpBothQueues(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(1_800_000_000+seconds, 0).UTC() }
	beat := func(queue string, seconds int64, used int32) *workerpb.WorkerHeartbeat {
		return &workerpb.WorkerHeartbeat{TaskQueue: queue, HeartbeatTime: timestamppb.New(at(seconds)), ActivityTaskSlotsInfo: &workerpb.WorkerSlotsInfo{CurrentUsedSlots: used}}
	}
	detect, execute := contract.WorkerDetectQueue("n1", "i1"), contract.WorkerQueue("n1", "i1")
	load := WorkerLoad{}.add(beat(execute, 5, 2)).add(beat(detect, 3, 1))
	assert.Equal(t, WorkerLoad{Executing: 2, Detecting: 1, At: at(5), executed: at(5), detected: at(3)}, load)
	load = WorkerLoad{}.add(beat(detect, 3, 1)).add(beat(execute, 5, 2)).add(beat("other", 4, 7))
	assert.Equal(t, WorkerLoad{Executing: 9, Detecting: 1, At: at(5), executed: at(4), detected: at(3)}, load)

	assert.True(t, WorkerLoad{detected: at(1), executed: at(1)}.since(WorkerLoad{detected: at(0), executed: at(2)}), "clocks differ: another heartbeat is enough")
	assert.False(t, WorkerLoad{detected: at(1), executed: at(1)}.since(WorkerLoad{detected: at(1)}))
	assert.False(t, WorkerLoad{detected: at(1), executed: at(1)}.since(WorkerLoad{executed: at(1)}))
}

func TestListedWorkersHaveTheirFreshLoads(t *testing.T) {
	t.Parallel()
	worker := func(id string, state contract.WorkerState, fresh bool) contract.WorkerDetail {
		return contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: id, MaxExecute: 4}, State: state, Fresh: fresh}
	}
	workers := []contract.WorkerDetail{worker("n1", contract.WorkerOnline, true), worker("n2", contract.WorkerOnline, false), worker("n3", contract.WorkerDraining, true)}
	listed := ListedWorkers(workers, map[string]WorkerLoad{"n1": {Executing: 3}, "n2": {Executing: 1}})
	assert.Equal(t, 3, listed[0].Load.Executing)
	assert.Nil(t, listed[1].Load, "its last heartbeat is old")
	assert.Nil(t, listed[2].Load, "the server has no heartbeat of it")
	assert.Equal(t, 4, listed[2].Caps.MaxExecute)
	assert.Equal(t, 1, Online(workers))
}

// TestAttemptsThatMayStillRunSomewhere: an item with one attempt has had its only worker.
func TestAttemptsThatMayStillRunSomewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item starter.Item
		want bool
	}{
		"not begun":                  {starter.Item{State: contract.JobPending}, false},
		"a second attempt":           {starter.Item{State: contract.JobCompleted, Attempt: 2, Worker: "n2"}, true},
		"failed there":               {starter.Item{State: contract.JobFailed, Attempt: 1, Worker: "n1"}, true},
		"failed, its worker unknown": {starter.Item{State: contract.JobFailed, Attempt: 1}, true},
		"failed elsewhere":           {starter.Item{State: contract.JobFailed, Attempt: 1, Worker: "n2"}, false},
		"completed there":            {starter.Item{State: contract.JobCompleted, Attempt: 1, Worker: "n1"}, false},
	} {
		assert.Equal(t, c.want, mayBeLost(c.item, "n1"), name)
	}
	for _, state := range heldStates() {
		assert.Empty(t, suspects([]starter.Item{{State: state, Attempt: 2, Worker: "n1"}}, "n1"), "it runs there: %s", state)
		assert.Len(t, suspects([]starter.Item{{State: state, Attempt: 2, Worker: "n2"}}, "n1"), 1, state)
	}
	sent, started := time.Unix(1_800_000_000, 0), time.Unix(1_800_000_005, 0)
	assert.Equal(t, started, begun(starter.Attempt{SentAt: sent, StartedAt: started}))
	assert.Equal(t, sent, begun(starter.Attempt{SentAt: sent}))
}

// TestAReportHasTheAttemptsOfANode, in addition to those of the open runs. No run is searched then.
func TestAReportHasTheAttemptsOfANode(t *testing.T) {
	t.Parallel()
	at, run := time.Unix(1_800_000_000, 0), starter.RunRef{WorkflowID: "group/scrub-1"}
	shown := ShownWorker{Items: []starter.Item{{ID: "job-00001", Run: run, StartedAt: at}}, Report: &contract.WorkerReport{Executing: 2, Detecting: 1, Jobs: []contract.WorkerJob{{JobID: "job-00002", GroupID: "group/scrub-1", StartedAt: at}}}}
	var facts reboot.Facts
	require.NoError(t, addRunning(t.Context(), nil, shown, &facts))
	assert.Equal(t, reboot.Facts{Reported: true, Running: 3, Attempts: []reboot.NodeAttempt{{Run: "group/scrub-1", Job: "job-00001", StartedAt: at}, {Run: "group/scrub-1", Job: "job-00002", StartedAt: at}}}, facts)
}

// TestADrainIsNotEstimatedWithoutAttempts that are known.
func TestADrainIsNotEstimatedWithoutAttempts(t *testing.T) {
	t.Parallel()
	client := starter.New(nil, "", nil)
	assert.Nil(t, drainOf(t.Context(), client, ShownWorker{WorkerDetail: contract.WorkerDetail{State: contract.WorkerDeleted}}))
	assert.Nil(t, drainOf(t.Context(), client, ShownWorker{Unanswered: "no answer"}))
	assert.NotNil(t, drainOf(t.Context(), client, ShownWorker{}), "all runs were searched, and nothing runs there")
	assert.NotNil(t, drainOf(t.Context(), client, ShownWorker{Unanswered: "no answer", Report: &contract.WorkerReport{}}))
	assert.Equal(t, ", the oldest is j of r at 0%", oldest(contract.WorkerReport{Jobs: []contract.WorkerJob{{JobID: "j", GroupID: "r"}}}))
	assert.Equal(t, ", the oldest is j of r", oldest(contract.WorkerReport{Jobs: []contract.WorkerJob{{JobID: "j", GroupID: "r", Percent: -1}}}))
}

// TestAVerdictSaysWhatItCounts: running jobs, lost attempts, and job types of this worker alone.
func TestAVerdictSaysWhatItCounts(t *testing.T) {
	t.Parallel()
	verdict := textOf("n1", reboot.Verdict{
		Code: "NOT_NOW", Running: 1, Alone: []reboot.Alone{{Name: "scrub"}, {Name: "fsck"}}, Unsearched: true,
		Attempts: []reboot.NodeAttempt{{Job: "job-00001", Lost: true}, {Job: "job-00002"}, {Job: "job-00003", Lost: true}},
	})
	assert.Equal(t, "NOT_NOW: "+verdict.Why, verdict.Text)
	for _, part := range []string{"its process sends no report", "1 job", "2 lost attempts may still run", "not all runs were searched", "only it serves scrub, fsck"} {
		assert.Contains(t, verdict.Why, part)
	}
	assert.Contains(t, textOf("n1", reboot.Verdict{Reported: true, Draining: true}).Why, "nothing runs there; it takes no new work")
}
