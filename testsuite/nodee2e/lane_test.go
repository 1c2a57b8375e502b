package nodee2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// alone is a program that must have the lane: two at once leave a line in the file `overlaps`. It
// waits for the file of its name plus .go.
func alone(dir, name string) string {
	return fmt.Sprintf(`[sh, -c, 'cd %[1]s; mkdir lock || echo %[2]s >> overlaps; touch %[2]s.began; until test -e %[2]s.go; do sleep 0.1; done; rmdir lock; echo %[2]s >> ran']`, dir, name)
}

// laneSite has a DAG with an approval between two tasks, and another job type of its lane.
func laneSite(t *testing.T, keys string) *site {
	t.Helper()
	return laneSiteWith(t, keys, "")
}

func laneSiteWith(t *testing.T, keys, tasks string) *site {
	t.Helper()
	s := newSite(t, "node-a")
	s.write("gated.yaml", fmt.Sprintf(`
version: 1
name: gated
tasks:
  - {id: before, command: %s}
  - {id: gate, needs: [before], approval: {prompt: "Go on?"}}
  - {id: behind, needs: [gate], command: %s}
%s`, alone(s.Dir, "before"), alone(s.Dir, "behind"), strings.ReplaceAll(tasks, "ALONE", alone(s.Dir, "clean"))))
	s.applyLane(keys)
	return s
}

// applyLane applies the DAG gated.yaml and another job type of its lane.
func (s *site) applyLane(keys string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf(`
version: 1
lanes: {night: {}}
job_types:
  gated:
    dag: gated.yaml
    lane: night
    schedule: {cron: "0 0 1 1 *"}
%s
  other:
    handler: command
    each_worker: true
    lane: night
    schedule: {cron: "0 0 1 1 *"}
    execute: {command: %s}
`, keys, alone(s.Dir, "other")))
}

func (s *site) write(name, text string) {
	s.T.Helper()
	require.NoError(s.T, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600))
}

func (s *site) touch(name string) {
	s.T.Helper()
	s.write(name, "")
}

func (s *site) awaitFile(name string) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, name, func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, name))
		return err == nil
	})
}

func (s *site) shown(run starter.RunRef) starter.Snapshot {
	s.T.Helper()
	snapshot, err := s.Client.Runs().Show(s.T.Context(), run)
	if err != nil {
		return starter.Snapshot{}
	}
	return snapshot
}

// restart is kill -9 of the control plane, and a new one.
func (s *site) restart(run starter.RunRef) {
	s.T.Helper()
	s.control.Kill()
	s.control = s.Start("server")
	testsuite.WaitFor(s.T, time.Minute, "the control plane answers", func() bool {
		_, err := s.Client.Admission().View(s.T.Context(), contract.AdmissionFilter{})
		return err == nil && s.shown(run).Group != nil && s.shown(starter.RunRef{WorkflowID: run.WorkflowID + "/job-00001"}).DAGStatus != nil
	})
}

// TestAnApprovalGivesItsLaneBack: another run has the lane while a DAG waits for its approval. The
// approved run takes the lane again before its next task begins. The control plane is killed in each wait.
func TestAnApprovalGivesItsLaneBack(t *testing.T) {
	t.Parallel()
	s := laneSite(t, "")
	gated := s.Begin("gated")
	s.awaitFile("before.began")
	s.touch("before.go")
	testsuite.WaitFor(t, time.Minute, "the lane is given back", func() bool {
		group := s.shown(gated).Group
		return group != nil && !group.LaneReleasedAt.IsZero()
	})
	s.restart(gated)
	shown := s.Command("show", "gated@")
	assert.Contains(t, shown, "given back since")
	assert.Contains(t, shown, "gate waits for an approval: Go on? (roundsman approve "+gated.WorkflowID+"/job-00001/gate)")
	assert.Contains(t, shown, "behind  pending")
	forecast := s.Start("schedule", "--since", "now")
	require.Zero(t, forecast.Code(t, time.Minute))
	assert.Contains(t, forecast.Stderr.String(), "gated is open and waits for an approval (gate): its ticks are skipped until it ends, at 20")

	other := s.Begin("other")
	s.awaitFile("other.began")
	s.Command("approve", "gated/gate")
	s.explained("gated", "LANE_BUSY(night)", "held by group/other-")
	s.restart(gated)
	s.explained("gated", "LANE_BUSY(night)")
	assert.NoFileExists(t, filepath.Join(s.Dir, "behind.began"))
	s.touch("behind.go")
	s.touch("other.go")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(other).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.Result(gated).Outcome)
	assert.Equal(t, []string{"before", "other", "behind"}, s.lines("ran"))
	assert.NoFileExists(t, filepath.Join(s.Dir, "overlaps"))
}

// TestAnApprovalKeepsItsLane with approvals_keep_lane.
func TestAnApprovalKeepsItsLane(t *testing.T) {
	t.Parallel()
	s := laneSite(t, "    approvals_keep_lane: true")
	for _, name := range []string{"before.go", "behind.go", "other.go"} {
		s.touch(name)
	}
	gated := s.Begin("gated")
	s.explained("gated", "AWAITING_APPROVAL(gate)")
	other := s.Begin("other")
	s.explained("other", "LANE_BUSY(night)")
	s.Command("approve", "gated/gate")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(gated).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.Result(other).Outcome)
	assert.Equal(t, []string{"before", "behind", "other"}, s.lines("ran"))
}

// TestACanceledRunTakesItsLaneForItsCleanUp: it was given back for an approval.
func TestACanceledRunTakesItsLaneForItsCleanUp(t *testing.T) {
	t.Parallel()
	s := laneSiteWith(t, "", "  - {id: clean, needs: [behind], trigger_rule: always, command: ALONE}\n")
	s.touch("before.go")
	gated := s.Begin("gated")
	s.explained("gated", "AWAITING_APPROVAL(gate)")
	other := s.Begin("other")
	s.awaitFile("other.began")
	s.Command("cancel", gated.WorkflowID, "--yes")
	s.explained("gated", "LANE_BUSY(night)")
	s.touch("other.go")
	s.touch("clean.go")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(other).Outcome)
	assert.Equal(t, contract.OutcomeCanceled, s.awaitEnd(gated).Outcome)
	assert.Equal(t, []string{"before", "other", "clean"}, s.lines("ran"))
	assert.NoFileExists(t, filepath.Join(s.Dir, "overlaps"))
}

// TestAnApprovalInASubDAGGivesTheLaneBack: as one in the DAG of the job does. The control plane is killed in
// each wait.
func TestAnApprovalInASubDAGGivesTheLaneBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	s.write("gated.yaml", fmt.Sprintf("version: 1\nname: gated\ntasks:\n  - {id: before, command: %s}\n  - {id: sub, needs: [before], dag: sub.yaml}\n", alone(s.Dir, "before")))
	s.write("sub.yaml", "version: 1\nname: sub\ntasks:\n  - {id: inner, dag: inner.yaml}\n")
	s.write("inner.yaml", fmt.Sprintf("version: 1\nname: inner\ntasks:\n  - {id: gate, approval: {prompt: \"Go on?\"}}\n  - {id: behind, needs: [gate], command: %s}\n", alone(s.Dir, "behind")))
	s.applyLane("")
	s.touch("before.go")
	gated := s.Begin("gated")
	s.awaitFile("before.began")
	released := func() bool {
		group := s.shown(gated).Group
		return group != nil && !group.LaneReleasedAt.IsZero()
	}
	testsuite.WaitFor(t, time.Minute, "the lane is given back", released)
	s.restart(gated)
	require.True(t, released())
	forecast := s.Start("schedule", "--since", "now")
	require.Zero(t, forecast.Code(t, time.Minute))
	assert.Contains(t, forecast.Stderr.String(), "gated is open and waits for an approval (sub/inner/gate): its ticks are skipped until it ends")

	other := s.Begin("other")
	s.awaitFile("other.began")
	s.Command("approve", gated.WorkflowID+"/job-00001/sub/inner/gate")
	s.explained("gated", "LANE_BUSY(night)", "held by group/other-")
	s.restart(gated)
	s.explained("gated", "LANE_BUSY(night)")
	assert.NoFileExists(t, filepath.Join(s.Dir, "behind.began"))
	s.touch("behind.go")
	s.touch("other.go")
	assert.Equal(t, contract.OutcomeCompleted, s.Result(other).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, s.Result(gated).Outcome)
	assert.Equal(t, []string{"before", "other", "behind"}, s.lines("ran"))
	assert.NoFileExists(t, filepath.Join(s.Dir, "overlaps"))
}
