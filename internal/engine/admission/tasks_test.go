package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func taskBudget(task string, count int) contract.TaskBudget {
	return contract.TaskBudget{
		JobType: contract.TasksOf("nightly"), DedupeKey: task,
		Rule: Rule{Count: count, Window: jobtype.Duration(sixty), DisableFor: jobtype.Duration(wholeDay)},
	}
}

func ofTask(who string, b contract.TaskBudget, ask int) Requested {
	return Requested{
		Holder: group(who), JobType: "nightly", Grace: jobtype.Duration(grace),
		Items: []Request{{ID: fmt.Sprint(b.DedupeKey, "#", ask), Budget: &b}},
	}
}

func failed(who string, b contract.TaskBudget, attempt int, at time.Time) Requested {
	ending := contract.TaskEnding{TaskBudget: b, Failed: true, Attempt: fmt.Sprint(b.DedupeKey, ".", attempt), At: at, Error: "disk on fire"}
	return Requested{Holder: group(who), JobType: "nightly", Endings: []Endings{{At: at, Tasks: []contract.TaskEnding{ending}}}}
}

func completed(who string, b contract.TaskBudget, at time.Time) Requested {
	ending := contract.TaskEnding{TaskBudget: b, Attempt: b.DedupeKey, At: at}
	return Requested{Holder: group(who), JobType: "nightly", Endings: []Endings{{At: at, Tasks: []contract.TaskEnding{ending}}}}
}

func (p *play) disable(t *testing.T, who string, b contract.TaskBudget) {
	t.Helper()
	for i := range b.Rule.Count {
		p.pass(time.Second)
		p.step(failed(who, b, i, p.now))
	}
	require.Len(t, p.d.HeldBack(b.JobType, p.now), 1)
}

func TestATaskIsRefusedWhileItIsDisabled(t *testing.T) {
	t.Parallel()
	p, load, other := ready(), taskBudget("load", 3), taskBudget("other", 3)
	p.disable(t, "monday", load)
	refused, ok := p.step(ofTask("tuesday", load, 1))[0].(Refused)
	require.True(t, ok)
	assert.Equal(t, contract.HoldRetryBudget, refused.Code)
	assert.Contains(t, refused.String(), "task load of DAG nightly is disabled until")
	assert.Contains(t, refused.String(), "after 3 failures within 1h; the last one: disk on fire")
	assert.IsType(t, Granted{}, p.step(ofTask("tuesday", other, 2))[0], "another task of the DAG")
	same := load
	same.JobType = contract.TasksOf("weekly")
	assert.IsType(t, Granted{}, p.step(ofTask("other dag", same, 1))[0], "the same name in another DAG")
	disabled := p.d.Disabled()
	require.Len(t, disabled, 1, "once, for the audit log")
	assert.Equal(t, "task load of DAG nightly", disabled[0].Of())

	reEnable := ReEnabled{JobType: load.JobType, DedupeKey: load.DedupeKey}
	require.NoError(t, p.d.CheckReEnable(reEnable, p.now))
	p.step(reEnable)
	require.ErrorContains(t, p.d.CheckReEnable(reEnable, p.now), "task load of DAG nightly is not disabled")
	assert.IsType(t, Granted{}, p.step(ofTask("tuesday", load, 3))[0])
}

func TestADisabledTaskIsEnabledByTime(t *testing.T) {
	t.Parallel()
	p, load := ready(), taskBudget("load", 2)
	p.disable(t, "monday", load)
	p.pass(wholeDay)
	assert.IsType(t, Granted{}, p.step(ofTask("tuesday", load, 1))[0])
}

// TestRunsLearnThatATaskIsDisabled: the run that reported the failure, and all holders of the
// task's grants, must not start it again. A waiting request is refused.
func TestRunsLearnThatATaskIsDisabled(t *testing.T) {
	t.Parallel()
	p, load := ready(), taskBudget("load", 1)
	db := Requested{Holder: group("x"), JobType: "x", Grace: jobtype.Duration(grace), Items: []Request{{ID: "db", Objects: []Object{{Name: "db"}}}}}
	require.IsType(t, Granted{}, p.step(db)[0])
	require.IsType(t, Granted{}, p.step(ofTask("running", load, 1))[0])
	waits := ofTask("waiting", load, 1)
	waits.Items[0].Objects = []Object{{Name: "db"}}
	require.Empty(t, p.step(waits))

	said := map[string]string{}
	for _, d := range p.step(failed("sender", load, 1, p.now)) {
		switch d := d.(type) {
		case Stopped:
			said[d.Holder.WorkflowID] = "stopped " + d.DedupeKey
		case Refused:
			said[d.Holder.WorkflowID] = "refused " + d.Code
		}
	}
	assert.Equal(t, map[string]string{
		group("sender").WorkflowID: "stopped load", group("running").WorkflowID: "stopped load", group("waiting").WorkflowID: "refused RETRY_BUDGET",
	}, said)
	p.step(Requested{Holder: group("x"), Release: []string{"db"}})
	assert.IsType(t, Granted{}, p.step(db)[0], "nothing is left of the refused request")

	lost := Requested{Holder: group("running"), JobType: "nightly", Reassert: true, Held: []Held{{AdmissionItem: ofTask("running", load, 1).Items[0], Fence: 7}}}
	require.IsType(t, Stopped{}, p.step(lost)[0], "an answer may be lost")
	last := failed("sender", load, 1, p.now)
	last.ReleaseAll = true
	assert.NotContains(t, fmt.Sprint(p.step(last)), "sender", "it has ended")
}

func TestATaskIsRefusedAfterARecovery(t *testing.T) {
	t.Parallel()
	p, load, late := ready(), taskBudget("load", 1), taskBudget("late", 1)
	p.disable(t, "monday", load)
	kept := p.d.Durable()
	next := play{d: New(p.now, Durable{}), now: p.now}
	assert.Empty(t, next.step(ofTask("tuesday", load, 1)), "nothing is granted in a recovery")
	assert.Empty(t, next.step(ofTask("tuesday", late, 2)))
	require.IsType(t, Refused{}, next.step(Inherited{Durable: kept})[0])
	next.step(failed("monday", late, 1, next.now))
	assert.Empty(t, next.d.requestsOf(group("tuesday")), "refused before it was granted")
	next.step(Expected{Final: true})
	require.IsType(t, Refused{}, next.step(ofTask("tuesday", load, 3))[0])
}

// taskModel is the naive reference of one task: all failures ever, by identity.
type taskModel struct {
	failures map[string]time.Time
	// since is the time up to which failures do not count; until is the end of the hold.
	since, until time.Time
}

func (m *taskModel) fail(id string, now time.Time, count int) {
	if _, known := m.failures[id]; known || now.Before(m.until) {
		return
	}
	m.failures[id] = now
	n := 0
	for _, at := range m.failures {
		if at.After(m.since) && at.After(now.Add(-sixty)) {
			n++
		}
	}
	if n >= count {
		m.until, m.since = now.Add(wholeDay), now
	}
}

// TestTasksFollowTheModel: under random reports, repeats and restarts, a task is granted exactly
// while the model has it enabled.
func TestTasksFollowTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const count = 3
		p, asks := ready(), 0
		tasks := map[string]*taskModel{}
		var sent []Requested
		for _, name := range []string{"a", "b"} {
			tasks[name] = &taskModel{failures: map[string]time.Time{}}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			p.pass(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 20 * time.Minute, 5 * time.Hour}).Draw(t, "pass"))
			name, who := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "task"), rapid.SampledFrom([]string{"r", "s"}).Draw(t, "run")
			b, m := taskBudget(name, count), tasks[name]
			switch rapid.SampledFrom([]string{"fail", "fail", "fail", "done", "repeat", "enable", "travel", "inherit"}).Draw(t, "what") {
			case "fail":
				asks++
				sent = append(sent, failed(who, b, asks, p.now))
				p.step(sent[len(sent)-1])
				m.fail(fmt.Sprint(who, asks), p.now, count)
			case "done":
				sent = append(sent, completed(who, b, p.now))
				p.step(sent[len(sent)-1])
				m.since, m.until = p.now, time.Time{}
			case "repeat":
				if len(sent) > 0 {
					again := sent[rapid.IntRange(max(0, len(sent)-4), len(sent)-1).Draw(t, "which")]
					if p.now.Sub(again.Endings[0].At) < repeatLimit {
						p.step(again)
					}
				}
			case "enable":
				e := ReEnabled{JobType: b.JobType, DedupeKey: name}
				disabled := p.now.Before(m.until)
				require.Equal(t, disabled, p.d.CheckReEnable(e, p.now) == nil)
				if disabled {
					p.step(e)
					m.since, m.until = p.now, time.Time{}
				}
			case "travel":
				data, err := json.Marshal(p.d.Snapshot())
				require.NoError(t, err)
				var s Snapshot
				require.NoError(t, json.Unmarshal(data, &s))
				p.d, err = Restore(s)
				require.NoError(t, err)
			case "inherit":
				p.d = New(p.now, p.d.Durable())
				p.step(Expected{Final: true})
			}
			for name, m := range tasks {
				asks++
				ask := ofTask("probe", taskBudget(name, count), asks)
				decisions := p.step(ask)
				require.Len(t, decisions, 1)
				_, refused := decisions[0].(Refused)
				require.Equal(t, p.now.Before(m.until), refused, "task %s", name)
				p.step(Requested{Holder: group("probe"), Release: []string{ask.Items[0].ID}})
			}
			require.Empty(t, p.d.ofTask, "nothing is left of released requests")
		}
	})
}
