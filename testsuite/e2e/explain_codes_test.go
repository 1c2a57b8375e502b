package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// fixture arranges a situation with one reason.
type fixture struct {
	code contract.Code
	// of distinguishes fixtures of one code.
	of      string
	arrange func(*stage) situation
}

// passes is the duration of a situation that ends by itself: long enough to arrange and explain it on a busy
// machine.
const passes = 12 * time.Second

// elsewhere names the tests of codes whose situations would disturb the other fixtures.
var elsewhere = map[contract.Code]string{
	contract.CodeControlPlaneDown: "TestExplainWithoutControlPlane",
	contract.CodeWorkflowStuck:    "starter's TestStuckWorkflow",
	contract.CodeRecovering:       "TestExplainAdmission",
	contract.CodeFleetRecovering:  "TestANewRegistryIsNoLackOfWorkers",
	contract.CodeCannotStart:      "TestASickNodeFailsNothing",
	contract.CodeNotInstalled:     "TestAProgramThatOneNodeLacks",
	contract.CodeLosesWorkers:     "TestAJobThatKillsItsWorkers",
	contract.CodeDiskFull:         "TestAFullDataDirectoryIsReported",
	contract.CodeReceiverFailing:  "TestNotificationsArriveAtLeastOnce",
	contract.CodeNoReceiver:       "TestNotificationsArriveAtLeastOnce",
	contract.CodeClaims:           "TestExplainAdmission",
	contract.CodeResources:        "TestExplainAdmission",
}

// TestEveryCodeHasAFixture: each code has one here or in elsewhere.
func TestEveryCodeHasAFixture(t *testing.T) {
	t.Parallel()
	known := map[contract.Code]bool{}
	for _, f := range fixtures() {
		known[f.code] = true
	}
	for _, code := range explain.Codes() {
		assert.NotEqual(t, known[code], elsewhere[code] != "", "%s needs one fixture or the name of a test", code)
	}
}

// TestExplainCodes arranges one situation for each code on the real server. It checks code, object and times,
// applies the remedy and waits for the reason to go.
func TestExplainCodes(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, newSite(), pauseButton())
	applied := p.stage(t, "applied")
	applied.applyTypes(typesOfFixtures(false))
	for _, f := range fixtures() {
		name := strings.Trim(strings.ToLower(strings.ReplaceAll(string(f.code), "_", "-"))+"-"+f.of, "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := p.stage(t, name)
			began := time.Now()
			want := f.arrange(s)
			want.code = f.code
			s.check(began, want)
		})
	}
}

// typesOfFixtures returns the job types of the fixtures, with whether they are enabled.
func typesOfFixtures(all bool) map[string]bool {
	return map[string]bool{"not-due-until": true, "paused": true, "paused-plainly": true, "disabled": all, "marked-done": true}
}

// applyTypes applies job types, disabled where the map has false.
func (s *stage) applyTypes(enabled map[string]bool) {
	s.t.Helper()
	var specs []contract.JobTypeSpec
	for name := range enabled {
		object := at(name)
		spec := siteSpec(s.t, name, "", object)
		spec.Handler, spec.Schedule, spec.Hash = name, contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, name
		spec.Policy.CatchupWindow = jobtype.Duration(time.Minute)
		specs = append(specs, spec)
	}
	plan, err := jobtypes.Of(s.client).Plan(s.t.Context(), specs, enabled)
	require.NoError(s.t, err)
	_, err = jobtypes.Of(s.client).Apply(s.t.Context(), plan)
	require.NoError(s.t, err)
}

func fixtures() []fixture {
	return append(append(fixturesOfTypes(), fixturesOfGroups()...), append(fixturesOfPlaces(), fixturesOfDAGs()...)...)
}

func fixturesOfTypes() []fixture {
	return []fixture{
		{code: contract.CodeDisabled, arrange: func(s *stage) situation {
			return situation{thing: "disabled", object: "disabled", says: "enabled: false", old: true, remedy: func() {
				s.applyTypes(typesOfFixtures(true))
			}}
		}},
		{code: contract.CodePaused, arrange: func(s *stage) situation {
			require.NoError(s.t, jobtypes.Of(s.client.As("ann", nil)).Pause(s.t.Context(), "paused", "new disks"))
			return situation{thing: "paused", object: "paused", says: "paused by ann: new disks", remedy: func() {
				require.NoError(s.t, jobtypes.Of(s.client).Resume(s.t.Context(), "paused"))
			}}
		}},
		{code: contract.CodePaused, of: "plainly", arrange: func(s *stage) situation {
			schedule := s.dial("temporal-cli:bob@couch").Temporal().ScheduleClient().GetHandle(s.t.Context(), contract.ScheduleID("paused-plainly"))
			require.NoError(s.t, schedule.Pause(s.t.Context(), client.SchedulePauseOptions{Note: "no power"}))
			return situation{thing: "paused-plainly", object: "paused-plainly", says: "paused by bob: no power", remedy: func() {
				require.NoError(s.t, schedule.Unpause(s.t.Context(), client.ScheduleUnpauseOptions{}))
			}}
		}},
		{code: contract.CodeNotDue, arrange: func(s *stage) situation {
			s.worker(1, "-ssd")
			s.hold(s.name)
			s.t.Cleanup(func() {
				if ref, err := s.client.Runs().Latest(s.t.Context(), s.name); err == nil {
					s.terminate(ref.WorkflowID)
				}
			})
			return situation{thing: s.name, object: s.name, old: true, until: true, remedy: func() {
				_, err := jobtypes.Of(s.client).RunNow(s.t.Context(), s.name)
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeIdle, arrange: func(s *stage) situation {
			id := s.worker(3, "-ssd")
			s.hold("x")
			return situation{thing: id, object: id, says: "it could run 3 jobs, but has no work: no applied job type uses its handlers", timeless: true, remedy: func() {
				s.group("1", s.spec(at("x")))
				s.works("x")
			}}
		}},
		{code: contract.CodeStarting, arrange: func(s *stage) situation {
			id := s.delayed(passes, s.spec())
			return situation{thing: id, object: id, remedy: func() { <-time.After(passes) }}
		}},
	}
}

func fixturesOfGroups() []fixture {
	return []fixture{
		{code: contract.CodePaused, of: "run", arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			open := s.hold("x")
			s.t.Cleanup(open)
			spec := s.spec(at("x"), at("y"))
			spec.Policy.GlobalExecutionConcurrency = 1
			run := s.group("1", spec)
			s.works("x")
			s.signal(run, contract.SignalPause, contract.PauseInput{By: "ann", Note: "new disks"})
			return situation{thing: run, object: run, says: "paused by ann: new disks", remedy: func() { s.signal(run, contract.SignalResume, nil) }}
		}},
		{code: contract.CodePaused, of: "temporal", arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			run := s.group("1", s.spec(at("x")))
			s.works("x")
			pause, unpause := s.pausing(run)
			pause()
			return situation{thing: run, object: run, says: "is paused in Temporal itself by test: for a test", remedy: unpause}
		}},
		{code: contract.CodeLaneBusy, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			spec := s.spec(at("x"))
			spec.Lane = s.name
			holder := s.group("1", spec)
			s.works("x")
			return situation{thing: s.group("2", spec), object: s.name, says: "held by " + holder, remedy: func() {
				require.NoError(s.t, s.client.Runs().Cancel(s.t.Context(), starter.RunRef{WorkflowID: holder}, "test"))
			}}
		}},
		{code: contract.CodeClaimHeld, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			mine, other := at("x"), at("y")
			mine.Exclusive, other.Exclusive = []string{s.name + "/1"}, []string{s.name + "/1"}
			holder := s.group("1", s.spec(mine))
			s.works("x")
			return situation{thing: s.group("2", s.spec(other)) + "/job-00001", object: s.name + "/1", says: "held by " + holder + "/job-00001", remedy: func() {
				require.NoError(s.t, s.client.Runs().CancelItem(s.t.Context(), starter.ItemRef{Run: starter.RunRef{WorkflowID: holder}, ID: "job-00001"}, "test"))
			}}
		}},
		{code: contract.CodePoolFull, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			mine, other := at("x"), at("y")
			mine.Resources, other.Resources = map[string]int{s.name: 1}, map[string]int{s.name: 1}
			holder := s.group("1", s.spec(mine))
			s.works("x")
			return situation{thing: s.group("2", s.spec(other)), object: s.name, says: "it needs 1; 1 of 1 are in use by " + holder + "/job-00001", remedy: func() {
				_, err := s.client.Admission().ResizePool(s.t.Context(), s.name, 2, "test")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeDeduped, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			open := s.hold("y")
			holder := s.group("1", s.spec(at("x")))
			s.works("x")
			run := s.group("2", s.spec(at("x"), at("y")))
			s.works("y")
			return situation{thing: run, object: "x", says: "active in " + holder, remedy: func() {
				open() // It goes with its run.
				_, err := s.client.Runs().Result(s.t.Context(), starter.RunRef{WorkflowID: run})
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeDetecting, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			var found []jobtype.Proposal
			for range contract.MaxPageProposals + 1 {
				found = append(found, at(""))
				found[len(found)-1].DedupeKey = ""
			}
			return situation{thing: s.group("1", s.spec(found...)) + "/job-00001", says: "the detection has not ended", remedy: func() { close(s.enough) }}
		}},
		{code: contract.CodeBackoff, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			spec := s.spec(at("fails"))
			spec.Policy.RetryLimit, spec.Policy.RetryBackoff = 1, jobtype.Duration(passes)
			s.hold("fails")
			return situation{thing: s.group("1", spec) + "/job-00001", says: "attempt 1 failed: no disk", until: true}
		}},
		{code: contract.CodeDeferred, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("early")
			return situation{thing: s.group("1", s.spec(at("early"))) + "/job-00001", says: "the lock is held", until: true}
		}},
		{code: contract.CodeGuard, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("unready")
			return situation{thing: s.group("1", s.spec(at("unready"))) + "/job-00001", says: "the standby lags", until: true}
		}},
		{code: contract.CodeRetryBudget, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			spec := s.spec(at("fails"))
			spec.RetryBudget, spec.Policy.RetryLimit, spec.Policy.RetryBackoff = budget(1, 0), 3, jobtype.Duration(time.Hour)
			return situation{thing: s.group("1", spec) + "/job-00001", object: "fails", says: "no disk", until: true, remedy: func() {
				_, err := s.client.Admission().ReEnable(s.t.Context(), s.name, "fails")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeMarkedDone, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.end(s.begin("warm-"+s.name, s.spec(at("w")))) // Now there is an admission.
			_, err := s.client.Admission().MarkDone(s.t.Context(), s.name, "x", time.Hour)
			require.NoError(s.t, err)
			open := s.hold("y")
			s.t.Cleanup(open)
			return situation{thing: s.group("1", s.spec(at("x"), at("y"))), object: "x", until: true, remedy: func() {
				_, err := s.client.Admission().Forgive(s.t.Context(), s.name, "x")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeAfter, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			spec := s.spec(at("x"))
			spec.After = map[string]contract.AfterRule{"dump": {SucceededWithin: jobtype.Duration(time.Hour)}}
			run := s.group("1", spec)
			return situation{thing: run, object: "dump", says: "has no success of the last 1 h", until: true, remedy: func() {
				s.signal(run, contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true})
			}}
		}},
		{code: contract.CodeWindowClosed, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			opens := time.Now().Add(30 * time.Minute)
			spec := s.spec(at("x"))
			spec.Calendar = between(opens, opens.Add(time.Hour))
			run := s.group("1", spec)
			return situation{thing: run, object: s.name, exact: opens.Truncate(time.Minute), remedy: func() { s.signal(run, contract.SignalSetCalendar, contract.SetCalendarInput{}) }}
		}},
		{code: contract.CodeWindowFit, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			s.hold("x")
			closes := time.Now().Add(time.Hour)
			long := at("y")
			long.EstimatedRuntime = jobtype.Duration(2 * time.Hour)
			spec := s.spec(at("x"), long)
			spec.Calendar = between(closes.Add(-2*time.Hour), closes)
			run := s.group("1", spec)
			return situation{thing: run + "/job-00002", object: "job-00002", exact: closes.Truncate(time.Minute), remedy: func() { s.signal(run, contract.SignalSetCalendar, contract.SetCalendarInput{}) }}
		}},
		{code: contract.CodeNotBefore, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			later := at("x")
			later.NotBefore = time.Now().Add(passes).UTC()
			s.hold("x")
			return situation{thing: s.group("1", s.spec(later)) + "/job-00001", exact: later.NotBefore}
		}},
		{code: contract.CodeOutcome, arrange: func(s *stage) situation {
			id := s.worker(2, "-ssd")
			s.hold("silent")
			spec := s.spec(at("silent"))
			spec.Policy.HeartbeatTimeout = jobtype.Duration(3 * time.Second)
			return situation{thing: s.group("1", spec) + "/job-00001", object: id, says: "was lost", until: true}
		}},
	}
}

func fixturesOfPlaces() []fixture {
	narrow := func(s *stage, edit func(*jobtype.Policy)) string {
		s.hold("x")
		s.hold("y")
		spec := s.spec(at("x"), at("y"))
		edit(&spec.Policy)
		run := s.group("1", spec)
		s.works("x")
		return run
	}
	return []fixture{
		{code: contract.CodeGlobalLimit, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			run := narrow(s, func(p *jobtype.Policy) { p.GlobalExecutionConcurrency = 1 })
			return situation{thing: run + "/job-00002", object: s.name, says: "of 1 is reached", remedy: func() {
				s.setPolicy(run, func(p *jobtype.Policy) { p.GlobalExecutionConcurrency = 2 })
			}}
		}},
		{code: contract.CodeBacklog, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			close(s.enough)
			s.hold("x")
			var found []jobtype.Proposal
			for range 410 { // More than two pages of a detection.
				found = append(found, jobtype.Proposal{Params: at("x").Params})
			}
			spec := s.spec(found...)
			spec.Policy.MaxJobsPerDetection = len(found)
			run := s.launch("1", contract.JobGroupInput{Spec: spec, OpenJobs: 1})
			s.works("x")
			return situation{thing: run + "/job-00410", object: s.name, says: "open jobs of the group come first", remedy: func() {
				require.NoError(s.t, testsuite.CancelItem(s.t.Context(), s.client.Temporal(), run, contract.CancelItemInput{Item: contract.JobID(410)}))
			}}
		}},
		{code: contract.CodeWorkerLimit, arrange: func(s *stage) situation {
			id := s.worker(2, "-ssd")
			run := narrow(s, func(p *jobtype.Policy) { p.PerWorkerExecutionConcurrency = 1 })
			return situation{thing: run + "/job-00002", object: id, says: "of 1 is reached", remedy: func() {
				s.setPolicy(run, func(p *jobtype.Policy) { p.PerWorkerExecutionConcurrency = 2 })
			}}
		}},
		{code: contract.CodeSlots, arrange: func(s *stage) situation {
			id := s.worker(1, "-ssd")
			run := narrow(s, func(*jobtype.Policy) {})
			return situation{thing: run + "/job-00002", object: id, remedy: func() {
				_, err := s.client.Workers().Resize(s.t.Context(), contract.ResizeWorkerInput{ID: id, MaxExecute: 2})
				require.NoError(s.t, err)
				_, err = s.client.Workers().Refresh(s.t.Context(), id) // As the command does.
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeSlots, of: "worker", arrange: func(s *stage) situation {
			id := s.worker(1, "-ssd")
			run := narrow(s, func(*jobtype.Policy) {})
			return situation{thing: id, object: id, says: "1 of 1 slots are in use: " + run + "/job-00001", remedy: func() {
				require.NoError(s.t, s.client.Runs().Cancel(s.t.Context(), starter.RunRef{WorkflowID: run}, "test"))
			}}
		}},
		{code: contract.CodeNoWorker, arrange: func(s *stage) situation {
			s.worker(1, "-hdd")
			needs := at("x")
			needs.Labels = map[string]string{"disk": "ssd"}
			s.hold("x")
			return situation{thing: s.group("1", s.spec(needs)) + "/job-00001", object: s.name + " disk=ssd", says: "no online worker has label disk=ssd", until: true, remedy: func() {
				s.worker(1, "-ssd")
			}}
		}},
		{code: contract.CodeNoWorker, of: "run", arrange: func(s *stage) situation {
			return situation{thing: s.group("1", s.spec(at("x"))), object: s.name, until: true, remedy: func() { s.worker(1, "-ssd") }}
		}},
		{code: contract.CodeCordoned, arrange: func(s *stage) situation {
			id := s.worker(1, "-ssd")
			_, err := s.client.Workers().Operate(s.t.Context(), id, starter.ActionCordon, "ann", "new disk")
			require.NoError(s.t, err)
			return situation{thing: id, object: id, says: "it is cordoned, by ann: new disk", remedy: func() {
				_, err := s.client.Workers().Operate(s.t.Context(), id, starter.ActionUncordon, "ann", "")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeCordoned, of: "job", arrange: func(s *stage) situation {
			id := s.worker(1, "-ssd")
			s.worker(1, "-hdd")
			_, err := s.client.Workers().Operate(s.t.Context(), id, starter.ActionDrain, "ann", "")
			require.NoError(s.t, err)
			pinned := at("x")
			pinned.Node = id
			s.hold("x")
			return situation{thing: s.group("1", s.spec(pinned)) + "/job-00001", object: id, says: "is draining", until: true, remedy: func() {
				_, err := s.client.Workers().Operate(s.t.Context(), id, starter.ActionUncordon, "ann", "")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeUnreachable, arrange: frozen(false)},
		{code: contract.CodeUnreachable, of: "job", arrange: frozen(true)},
	}
}

func fixturesOfDAGs() []fixture {
	return []fixture{
		{code: contract.CodeApproval, arrange: func(s *stage) situation {
			ref := s.dag("", "  - {id: ok, approval: {prompt: \"agreed?\", timeout: 1h}}\n")
			return situation{thing: ref.WorkflowID + "/ok", object: "ok", says: "agreed?", until: true, remedy: func() {
				_, err := s.client.DAGs().ApproveTask(s.t.Context(), ref, "ok", "ann", "")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeUpstream, arrange: func(s *stage) situation {
			ref := s.dag("", "  - {id: ok, approval: {}}\n  - {id: nap, needs: [ok], sleep: 10m}\n")
			return situation{thing: ref.WorkflowID + "/nap", object: "ok", says: "ok waits: AWAITING_APPROVAL", remedy: func() {
				_, err := s.client.DAGs().ApproveTask(s.t.Context(), ref, "ok", "ann", "")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeSleeping, arrange: func(s *stage) situation {
			ref := s.dag("", fmt.Sprintf("  - {id: nap, sleep: %s}\n", passes))
			return situation{thing: ref.WorkflowID + "/nap", lasts: passes}
		}},
		{code: contract.CodeConcurrency, arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			ref := s.dag("concurrency: 1\n", "  - {id: a, WORK}\n  - {id: b, WORK}\n")
			return situation{thing: ref.WorkflowID + "/b", object: ref.WorkflowID, says: "concurrency of 1 is used up", remedy: func() {
				_, err := s.client.DAGs().SetConcurrency(s.t.Context(), ref, 2, "test")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeConcurrency, of: "fan-out", arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			ref := s.dag("", "  - {id: a, for_each: [x, y], concurrency: 1, WORK}\n")
			return situation{thing: ref.WorkflowID + "/a.y", object: "a", says: "concurrency of 1 of the fan-out a is used up", remedy: func() {
				changed, err := s.client.Runs().Set(s.t.Context(), ref, override.Change{"concurrency.a": json.RawMessage("2")})
				require.NoError(s.t, err)
				assert.Equal(s.t, []contract.FieldChange{{Path: "concurrency.a", Before: "1", After: "2"}}, changed)
				changed, err = s.client.Runs().Set(s.t.Context(), ref, override.Change{"concurrency.a": json.RawMessage("2")})
				require.NoError(s.t, err)
				assert.Empty(s.t, changed)
				_, err = s.client.Runs().Set(s.t.Context(), ref, override.Change{"concurrency.gone": json.RawMessage("2")})
				require.ErrorContains(s.t, err, "there is no fan-out")
			}}
		}},
		{code: contract.CodeItemsInFlight, arrange: func(s *stage) situation {
			ref := s.dag("", "  - {id: ok, for_each: [x, y], items_in_flight: 1, approval: {}}\n  - {id: nap, for_each: [x, y], per_item: ok, sleep: 1s}\n")
			return situation{thing: ref.WorkflowID + "/ok.y", object: "ok.x", says: "1 of 1 items of ok are in flight: ok.x waits: AWAITING_APPROVAL", remedy: func() {
				_, err := s.client.DAGs().ApproveTask(s.t.Context(), ref, "ok.x", "ann", "")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeItemFailed, arrange: func(s *stage) situation {
			ref := s.dag("hold_on_failure: 1h\n", "  - {id: ok, for_each: [x, y], items_in_flight: 1, on_item_failure: stop, approval: {}}\n")
			s.awaitDAGTask(ref, "ok.x")
			_, err := s.client.DAGs().RejectTask(s.t.Context(), ref, "ok.x", "ann", "no")
			require.NoError(s.t, err)
			return situation{thing: ref.WorkflowID + "/ok.y", object: "ok.x", says: "item x failed", remedy: func() {
				_, err := s.client.DAGs().RetryTasks(s.t.Context(), ref, nil, "ann")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeConcurrency, of: "granted", arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			ref := s.dag("concurrency: 1\n", "  - {id: a, WORK}\n  - {id: b, resources: {"+s.name+": 1}, WORK}\n")
			return situation{thing: ref.WorkflowID + "/b", object: ref.WorkflowID, says: "it has its resources and gets the next place", remedy: func() {
				_, err := s.client.DAGs().SetConcurrency(s.t.Context(), ref, 2, "test")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodeParked, arrange: func(s *stage) situation {
			ref := s.dag("hold_on_failure: 1h\n", "  - {id: ok, approval: {}}\n  - {id: nap, needs: [ok], sleep: 10m}\n")
			s.awaitDAGTask(ref, "ok")
			_, err := s.client.DAGs().RejectTask(s.t.Context(), ref, "ok", "ann", "no")
			require.NoError(s.t, err)
			return situation{thing: ref.WorkflowID, object: "ok", says: "tasks that failed: 1, blocked by them: 1", until: true, remedy: func() {
				_, err := s.client.DAGs().RetryTasks(s.t.Context(), ref, nil, "ann")
				require.NoError(s.t, err)
			}}
		}},
		{code: contract.CodePaused, of: "dag", arrange: func(s *stage) situation {
			s.worker(1, "-ssd")
			ref := s.dag("", "  - {id: ok, approval: {}}\n  - {id: a, needs: [ok], WORK}\n")
			s.awaitDAGTask(ref, "ok")
			require.NoError(s.t, s.client.As("ann", nil).Runs().Pause(s.t.Context(), ref, "new disks"))
			return situation{thing: ref.WorkflowID + "/a", object: ref.WorkflowID, says: "paused by ann: new disks", remedy: func() {
				require.NoError(s.t, s.client.Runs().Resume(s.t.Context(), ref))
			}}
		}},
		{code: contract.CodeNoWorker, of: "task", arrange: func(s *stage) situation {
			ref := s.dag("", "  - {id: a, WORK}\n")
			return situation{thing: ref.WorkflowID + "/a", object: "command stage=" + s.name, until: true, remedy: func() { s.worker(1, "-ssd") }}
		}},
		{code: contract.CodePoolFull, of: "task", arrange: func(s *stage) situation {
			s.worker(2, "-ssd")
			ref := s.dag("", "  - {id: a, resources: {"+s.name+": 1}, WORK}\n  - {id: b, resources: {"+s.name+": 1}, WORK}\n")
			return situation{thing: ref.WorkflowID + "/b", object: s.name, says: ref.WorkflowID + "/a", remedy: func() {
				_, err := s.client.Admission().ResizePool(s.t.Context(), s.name, 2, "test")
				require.NoError(s.t, err)
			}}
		}},
	}
}
