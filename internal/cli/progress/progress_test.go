package progress

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(id string, accepted, completed, running int) starter.Snapshot {
	counts := contract.GroupCounts{Detected: accepted, Accepted: accepted, Completed: completed}
	return starter.Snapshot{
		Run: starter.Run{
			Kind: starter.KindGroup, RunRef: starter.RunRef{WorkflowID: id}, JobType: "scrub", Status: starter.StatusRunning,
			Counts:   starter.Counts{"detected": accepted, "running": running},
			Progress: &starter.Progress{Total: accepted, Ended: completed, Running: running},
		},
		Phase: "dispatching", Group: &contract.GroupStatus{Running: running, Counts: counts},
	}
}

func ended(id string, result *contract.JobGroupResult) starter.Snapshot {
	snapshot := starter.Snapshot{
		Run:    starter.Run{Kind: starter.KindGroup, RunRef: starter.RunRef{WorkflowID: id}, JobType: "scrub", Status: "Completed"},
		Result: result,
	}
	if result != nil {
		snapshot.Outcome, snapshot.Reason, snapshot.DurationMS, snapshot.Failed = result.Outcome, result.Reason, result.DurationMS, result.Errors
		snapshot.Progress = &starter.Progress{Total: result.Counts.Accepted, Ended: result.Counts.Ended(), Failed: result.Counts.Failed}
	}
	return snapshot
}

func completed() *contract.JobGroupResult {
	return &contract.JobGroupResult{
		Outcome: contract.OutcomePartial, DurationMS: 4210, Reason: "a disk is slow",
		Counts:   contract.GroupCounts{Detected: 4, Accepted: 4, Completed: 3, Failed: 1},
		ByWorker: map[string]int{"node-b": 1, "node-a": 2},
		Errors:   []contract.JobError{{DedupeKey: "/srv/x", Message: "digest\ndiffers"}, {JobID: "job-00004", Message: "no key"}},
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		"scrub: partial in 4.21s: 4 found, 3 completed, 1 failed (node-a 2, node-b 1): a disk is slow",
		"  /srv/x: digest differs",
		"  job-00004: no key",
	}, Summary(ended("g", completed()), nil))

	lost := ended("group/x", nil)
	lost.Failure = "terminated"
	assert.Equal(t, []string{"scrub: no result: terminated (group/x)"}, Summary(lost, nil))

	// A result lists the first 50 of these 735 failed jobs.
	many := completed()
	many.Counts.Failed, many.Errors = 735, nil
	for i := range 50 {
		key := fmt.Sprintf("/srv/vol-%02d", i)
		many.Errors = append(many.Errors, contract.JobError{DedupeKey: key, Message: "disk of " + key + " is gone"})
	}
	many.Errors[7].Message = "out of memory"
	assert.Equal(t, []string{
		"  49 × disk of KEY is gone (such as /srv/vol-00)",
		"  /srv/vol-07: out of memory",
		"  … and 685 more failed: roundsman show group/x",
	}, Summary(ended("group/x", many), nil)[1:])

	// Refused proposals without a key.
	refused := completed()
	refused.Errors = []contract.JobError{{Message: "proposal refused: a"}, {Message: "proposal refused: b"}, {Message: "proposal refused: b"}}
	assert.Equal(t, []string{"  2 × proposal refused: b", "  proposal refused: a"}, Summary(ended("group/x", refused), nil)[1:])
}

func TestLinesAreFewButSayWhatMatters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	display := New(&out, Options{Now: func() time.Time { return now }})
	display.Update(open("g1", 0, 0, 0))
	for i := range 100 {
		now = now.Add(100 * time.Millisecond)
		display.Update(open("g1", 100, i, 4))
	}
	display.Note("the dev server died")
	display.Update(ended("g1", completed()))
	display.Update(ended("g1", completed()))
	display.Close()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Equal(t, "scrub: started g1", lines[0])
	assert.Equal(t, "scrub: 0 of 100 ended, 4 running", lines[1], "the end of the detection is told at once")
	assert.Contains(t, out.String(), "the dev server died\n")
	assert.Equal(t, 1, strings.Count(out.String(), "partial in"), "an end is told once")
	assert.Less(t, len(lines), 10, "ten seconds of a run are a handful of lines: %s", out.String())
}

// TestALineDoesNotRepeatTheEnd, while the run stores its result.
func TestALineDoesNotRepeatTheEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	display := New(&out, Options{Now: time.Now})
	ending := open("g1", 2, 2, 0)
	ending.Phase = contract.PhaseEnded
	display.Update(ending)
	display.Close()
	assert.Equal(t, "scrub: started g1\nscrub: 2 of 2 ended\n", out.String())
}

// locked is a buffer for the goroutine of the bars.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(text)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestBarsMoveAndLeaveASummary(t *testing.T) {
	t.Parallel()
	out := &locked{}
	display := New(out, Options{Terminal: true, Width: 140, Now: time.Now})
	display.Update(open("g1", 0, 0, 0))
	half := open("g1", 4, 2, 2)
	half.Active = []starter.ActiveItem{{ID: "job-00003", Progress: &contract.Heartbeat{Percent: 40, Stage: "hashing"}}}
	display.Update(half)
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "2/4") && strings.Contains(out.String(), "job-00003 40% hashing")
	}, time.Minute, 10*time.Millisecond)
	display.Update(open("g1", 6, 4, 2))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "4/6") }, time.Minute, 10*time.Millisecond,
		"a bar at its total continues when more is found")
	display.Note("a note")
	display.Update(ended("g1", completed()))
	display.Close()
	display.Close()
	display.Update(open("g2", 1, 0, 0))
	display.Note("too late")
	assert.Contains(t, out.String(), "scrub: partial in 4.21s")
	assert.Contains(t, out.String(), "a note")
	assert.NotContains(t, out.String(), "too late")
}

func TestWhatARunDoes(t *testing.T) {
	t.Parallel()
	paused := open("g", 4, 1, 0)
	paused.Paused = true
	noted := open("g", 4, 1, 0)
	noted.Paused, noted.Waiting = true, "the run is paused by ann: new disks"
	assert.Equal(t, "the run is paused by ann: new disks", Doing(noted))
	waiting := open("g", 4, 1, 0)
	waiting.Waiting = "no worker is online"
	silent := open("g", 0, 0, 0)
	silent.Phase, silent.Unanswered = "", "CONTROL_PLANE_DOWN: query status"
	fresh := silent
	fresh.Unanswered = ""
	assert.Equal(t, "paused", Doing(paused))
	assert.Equal(t, "no worker is online", Doing(waiting))
	assert.Equal(t, "CONTROL_PLANE_DOWN: query status", Doing(silent))
	assert.Equal(t, "starting", Doing(fresh))
	stale := open("g", 4, 1, 3)
	stale.Unanswered = "connection refused"
	assert.Equal(t, "no answer: connection refused", Doing(stale), "what was known last is not the present")
	assert.Equal(t, "dispatching", Doing(open("g", 0, 0, 0)))
}

func TestCountsSayWhenTheyAreNotExact(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "200100 found, 200000 over the limit", countsOf(contract.GroupCounts{Detected: 200_100, Surplus: 200_000}))
	assert.Equal(t, "more than 200100 found, 200000 over the limit", countsOf(contract.GroupCounts{Detected: 200_100, DetectedMore: true, Surplus: 200_000}))
}

func countsOf(counts contract.GroupCounts) string {
	return Counts(starter.Snapshot{Group: &contract.GroupStatus{Counts: counts}})
}
