package reboot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/reboot"
)

func worker(id string, change func(*contract.WorkerDetail)) contract.WorkerDetail {
	w := contract.WorkerDetail{
		Registration: contract.WorkerRegistration{ID: id, Capabilities: []contract.Capability{{Handler: "disk", Execute: true}}},
		State:        contract.WorkerOnline, Fresh: true,
	}
	if change != nil {
		change(&w)
	}
	return w
}

func labeled(w *contract.WorkerDetail) { w.Registration.Labels = map[string]string{"role": "storage"} }

// TestDecide: the verdict is never better than the facts.
func TestDecide(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	job, later := reboot.NodeAttempt{Run: "group/a", Job: "job-1", StartedAt: at}, reboot.NodeAttempt{Run: "group/a", Job: "job-2", StartedAt: at.Add(time.Hour)}
	lost := reboot.NodeAttempt{Run: "group/b", Job: "job-9", StartedAt: at.Add(2 * time.Hour), Lost: true}
	plain, storage := reboot.Type{Name: "check", Handler: "disk", Next: at}, reboot.Type{Name: "check", Handler: "disk", Labels: map[string]string{"role": "storage"}, Next: at}
	pair := []contract.WorkerDetail{worker("a", nil), worker("b", nil)}
	waits := []reboot.Alone{{Name: "check", Next: at}}
	for _, c := range []struct {
		name    string
		facts   reboot.Facts
		code    reboot.Code
		running int
		alone   []reboot.Alone
	}{
		{"nothing runs, another serves", reboot.Facts{Worker: pair[0], Reported: true, Fleet: pair, Types: []reboot.Type{plain}}, reboot.Free, 0, nil},
		{"no report, no known job", reboot.Facts{Worker: pair[0], Fleet: pair}, reboot.NotKnown, 0, nil},
		{"no report, three jobs of open runs", reboot.Facts{Worker: pair[0], Fleet: pair, Attempts: []reboot.NodeAttempt{later, job, job}}, reboot.NotKnown, 3, nil},
		{"no report, a lost attempt", reboot.Facts{Worker: pair[0], Fleet: pair, Attempts: []reboot.NodeAttempt{lost}}, reboot.NotKnown, 0, nil},
		{"no report, and job types that would wait", reboot.Facts{Worker: pair[0], Fleet: pair[:1], Types: []reboot.Type{plain}}, reboot.NotKnown, 0, waits},
		{"a job runs", reboot.Facts{Worker: pair[0], Reported: true, Running: 1, Attempts: []reboot.NodeAttempt{job}, Fleet: pair}, reboot.DrainFirst, 1, nil},
		{"a job runs, and it drains", reboot.Facts{
			Worker: worker("a", func(w *contract.WorkerDetail) { w.Mode = contract.ModeDraining }), Reported: true, Running: 1, Attempts: []reboot.NodeAttempt{job}, Fleet: pair,
		}, reboot.Draining, 1, nil},
		{"a report lists fewer than run", reboot.Facts{Worker: pair[0], Reported: true, Running: 5, Attempts: []reboot.NodeAttempt{job}, Fleet: pair}, reboot.DrainFirst, 5, nil},
		{"a lost attempt besides a report", reboot.Facts{Worker: pair[0], Reported: true, Attempts: []reboot.NodeAttempt{lost}, Fleet: pair}, reboot.DrainFirst, 0, nil},
		{"a remote worker, not all runs searched", reboot.Facts{
			Worker: worker("a", func(w *contract.WorkerDetail) { w.Registration.Remote = true }), Reported: true, Unsearched: true, Fleet: pair, Types: []reboot.Type{plain},
		}, reboot.NotKnown, 0, nil},
		{"a worker that reports its jobs, not all runs searched", reboot.Facts{Worker: pair[0], Reported: true, Unsearched: true, Fleet: pair, Types: []reboot.Type{plain}}, reboot.Free, 0, nil},
		{"nobody else", reboot.Facts{Worker: pair[0], Reported: true, Fleet: pair[:1], Types: []reboot.Type{plain}}, reboot.WorkWaits, 0, waits},
		{"the other one is away", reboot.Facts{
			Worker: pair[0], Reported: true, Types: []reboot.Type{plain},
			Fleet: []contract.WorkerDetail{pair[0], worker("b", func(w *contract.WorkerDetail) { w.State = contract.WorkerOffline })},
		}, reboot.WorkWaits, 0, waits},
		{"the other one drains", reboot.Facts{
			Worker: pair[0], Reported: true, Types: []reboot.Type{plain},
			Fleet: []contract.WorkerDetail{pair[0], worker("b", func(w *contract.WorkerDetail) { w.State = contract.WorkerDraining })},
		}, reboot.WorkWaits, 0, waits},
		{"the other one is silent", reboot.Facts{
			Worker: pair[0], Reported: true, Types: []reboot.Type{plain},
			Fleet: []contract.WorkerDetail{pair[0], worker("b", func(w *contract.WorkerDetail) { w.Fresh = false })},
		}, reboot.WorkWaits, 0, waits},
		{"only this one has the label", reboot.Facts{
			Worker: worker("a", labeled), Reported: true, Types: []reboot.Type{storage}, Fleet: []contract.WorkerDetail{worker("a", labeled), pair[1]},
		}, reboot.WorkWaits, 0, waits},
		{"both have the label", reboot.Facts{
			Worker: worker("a", labeled), Reported: true, Types: []reboot.Type{storage}, Fleet: []contract.WorkerDetail{worker("a", labeled), worker("b", labeled)},
		}, reboot.Free, 0, nil},
		{"this one lacks the label", reboot.Facts{Worker: pair[0], Reported: true, Types: []reboot.Type{storage}, Fleet: pair}, reboot.Free, 0, nil},
		{"the job type is paused", reboot.Facts{
			Worker: pair[0], Reported: true, Fleet: pair[:1], Types: []reboot.Type{{Name: "check", Handler: "disk", Idle: true}},
		}, reboot.Free, 0, nil},
		{"the other one is for other job types", reboot.Facts{
			Worker: pair[0], Reported: true, Types: []reboot.Type{plain},
			Fleet: []contract.WorkerDetail{pair[0], worker("b", func(w *contract.WorkerDetail) { w.Registration.JobTypes = []string{"other"} })},
		}, reboot.WorkWaits, 0, waits},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := reboot.Decide(c.facts)
			assert.Equal(t, c.code, v.Code)
			assert.Equal(t, c.running, v.Running)
			assert.Equal(t, append([]reboot.Alone{}, c.alone...), v.Alone)
			assert.Equal(t, c.facts.Reported, v.Reported)
			assert.ElementsMatch(t, c.facts.Attempts, v.Attempts)
		})
	}
	v := reboot.Decide(reboot.Facts{Worker: pair[0], Attempts: []reboot.NodeAttempt{later, lost, job}})
	assert.Equal(t, []reboot.NodeAttempt{lost, job, later}, v.Attempts, "first the lost one, then by age")
}
