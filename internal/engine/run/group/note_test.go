package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// noted lists the notes since its last call, one line each.
func (s *script) noted() []string {
	var list []string
	for _, n := range s.g.engine.Notes() {
		line := fmt.Sprintf("%s %s", n.Verdict, n.Code)
		if n.Item > 0 {
			line += fmt.Sprintf(" %d", n.Item)
		}
		if n.Count > 1 {
			line += fmt.Sprintf(" ×%d", n.Count)
		}
		if n.Waited > 0 {
			line += " " + n.Waited.String()
		}
		list = append(list, line)
	}
	return list
}

func TestNothingIsNotedOfACleanGroup(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, make([]jobtype.Proposal, 5)...)
	for job := 1; job <= 5; job++ {
		s.now = s.now.Add(time.Minute)
		s.end(job, FailureNone)
	}
	assert.Empty(t, s.noted(), "waiting behind the group's own limit is no decision to tell of")
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
}

func TestWhatHappensToAttemptsIsNoted(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{RetryLimit: 1, RetryBackoff: seconds(7)}), []Worker{node("a", 4), node("b", 4)}, make([]jobtype.Proposal, 4)...)
	s.end(1, FailureFailed)
	s.end(2, FailureAtCapacity)
	s.end(3, FailureDraining)
	s.end(4, FailureWorkerLost)
	assert.Equal(t, []string{"delayed RETRY_BACKOFF_UNTIL 1 7s", "delayed AT_CAPACITY 2", "delayed WORKER_DRAINING 3"}, s.noted())
	s.wait(run.Grace)
	assert.Equal(t, []string{"replaced WORKER_LOST 4"}, s.noted(), "once it is certain")
	assert.Empty(t, s.noted(), "each is told once")
}

func TestWhatDoesNotStartIsNoted(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxRuntime: jobtype.Duration(time.Minute)}, []Worker{node("a", 1)},
		jobtype.Proposal{}, jobtype.Proposal{ExpiresAt: epoch.Add(10 * time.Second)}, jobtype.Proposal{}, jobtype.Proposal{Node: "z"})
	s.wait(time.Minute)
	assert.ElementsMatch(t, []string{"refused EXPIRED 2", "ended DEADLINE", "refused NOT_STARTED 3", "refused NOT_STARTED 4"}, s.noted())
}

func TestEndsOfAttemptsAreNoted(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{}, []Worker{node("a", 1)}, jobtype.Proposal{})
	s.end(1, FailureStale)
	assert.Equal(t, []string{"ended STALE 1"}, s.noted())
	for policy, verdict := range map[jobtype.OnWorkerLoss]string{
		jobtype.WorkerLossReplace: "replaced", jobtype.WorkerLossFail: "ended", jobtype.WorkerLossHold: "delayed",
	} {
		s := play(t, jobtype.Policy{OnWorkerLoss: policy}, []Worker{node("a", 1)}, jobtype.Proposal{})
		s.end(1, FailureWorkerLost)
		s.wait(run.Grace)
		assert.Contains(t, s.noted(), verdict+" WORKER_LOST 1")
	}
}

func TestMissingWorkersAreNoted(t *testing.T) {
	t.Parallel()
	s := playWith(t, Config{Policy: wide(jobtype.Policy{ExecutionTimeout: jobtype.Duration(time.Hour)}), MaxWait: time.Hour}, nil)
	s.wait(30 * time.Second)
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 4)}})
	assert.Equal(t, []string{"delayed NO_WORKER 30s"}, s.noted(), "nobody could detect")
	s.detected(jobtype.Proposal{Node: "b"}, jobtype.Proposal{Node: "c"})
	s.wait(20 * time.Second)
	away := node("c", 4)
	away.State = contract.WorkerOffline
	s.ran(run.WorkersChanged{Workers: []Worker{node("a", 4), node("b", 4), away}})
	assert.Equal(t, []string{"delayed NO_WORKER 1 20s", "refused NO_WORKER 2"}, s.noted())
}

func TestWhatADetectionLosesIsNoted(t *testing.T) {
	t.Parallel()
	s := play(t, jobtype.Policy{MaxJobsPerDetection: 2}, []Worker{node("a", 1), node("b", 1)})
	s.step(DetectionEnded{Attempt: 1, Failure: FailureWorkerLost, Message: "gone"})
	assert.Equal(t, []string{"replaced WORKER_LOST"}, s.noted())
	key := func(k string) jobtype.Proposal { return jobtype.Proposal{DedupeKey: k} }
	s.detected(key("x"), key("x"), key("x"), key("y"), key("z"))
	assert.Equal(t, []string{"refused DUPLICATE ×2", "refused SURPLUS"}, s.noted())
}

func TestClaimsAndResourcesAreNoted(t *testing.T) {
	t.Parallel()
	s := playWith(t, Config{Policy: wide(jobtype.Policy{}), Claims: true}, []Worker{node("a", 4)})
	needs := jobtype.Proposal{DedupeKey: "mine", Resources: map[string]int{"db": 1}}
	s.detected(needs, jobtype.Proposal{DedupeKey: "theirs"})
	s.step(KeysClaimed{Active: []Active{{Job: 2, Key: "theirs", By: "group/other"}}, Fence: 1, Fences: 100})
	assert.Equal(t, []string{"refused DEDUPED"}, s.noted())
	s.wait(5 * time.Second)
	s.step(run.Granted{Item: 1, Ask: 1, Fence: 200, Fences: 10})
	assert.Equal(t, []string{"delayed RESOURCES_PENDING 1 5s"}, s.noted())
	s.step(run.Revoked{Item: 1, Ask: 1, Reason: "another has it"})
	assert.Equal(t, []string{"ended GRANT_LOST 1"}, s.noted())
}

// TestEachPendingJobIsCounted: more jobs wait for different objects than a status lists reasons. The wait of most jobs is
// the first.
func TestEachPendingJobIsCounted(t *testing.T) {
	t.Parallel()
	const jobs = 3 * maxWaits
	s := playWith(t, Config{Policy: jobtype.Policy{GlobalExecutionConcurrency: jobs, PerWorkerExecutionConcurrency: jobs}, Claims: true}, []Worker{node("a", jobs)})
	var found []jobtype.Proposal
	for i := range jobs {
		key := fmt.Sprint(i)
		found = append(found, jobtype.Proposal{DedupeKey: key, Resources: map[string]int{"disk-" + key: 1}})
	}
	found = append(found, jobtype.Proposal{DedupeKey: "x", Node: "gone"}, jobtype.Proposal{DedupeKey: "y", Node: "gone"})
	s.detected(found...)
	s.step(KeysClaimed{Fence: 1, Fences: 100})
	status := s.g.Status(s.now)
	total := 0
	for _, wait := range status.Waits {
		total += wait.Items
	}
	assert.Equal(t, len(found), total)
	assert.Len(t, status.Waits, maxWaits)
	assert.Equal(t, []any{string(contract.CodeResources), jobs - maxWaits + 2}, []any{status.MostWait().Code, status.MostWait().Items})
}
