package explain

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

const scrubRun = "group/scrub-2026-11-24T02:40:00Z"

func TestRunsInASentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Holder{
		"it waits for " + scrubRun + ".":                            {{Run: scrubRun}},
		"it waits for " + scrubRun + "/job-00001, of lane tape":     {{Run: scrubRun, Item: "job-00001"}},
		"in (" + scrubRun + "/job-00001/load).":                     {{Run: scrubRun + "/job-00001", Item: "load"}},
		"held by dag/release/v1.14.":                                {{Run: "dag/release/v1.14"}},
		"held by dag/release/v1.: since 3 min":                      {{Run: "dag/release/v1."}},
		"held by dag/release/v1- since 3 min":                       {{Run: "dag/release/v1-"}},
		"(group/claims-adhoc-ticket-)":                              {{Run: "group/claims-adhoc-ticket-"}},
		"dag/outer/nested/one has it, dag/outer/nested/one/two too": {{Run: "dag/outer/nested", Item: "one"}, {Run: "dag/outer/nested/one", Item: "two"}},
		"open /srv/dag/release/v1.14: no such file":                 nil,
		"cannot read mydag/a/b, ../group/x-adhoc-1":                 nil,
		"dag/release, group/, group/-, dag//x":                      {{Run: "group/-"}},
	} {
		assert.Equal(t, want, RunsIn(text), text)
	}
}

func TestTextsOfPeopleAndProgramsAreQuoted(t *testing.T) {
	t.Parallel()
	text := "eBPF on dag/release/v1"
	said := func(r Reason) Reason { return ordered([]Reason{r})[0] }
	prompt := said(Reason{Code: contract.CodeApproval, Detail: text})
	assert.True(t, prompt.Quoted)
	assert.Empty(t, prompt.Runs, "a path of a person is no run")
	assert.False(t, said(Reason{Code: contract.CodeApproval, Detail: TextPerson}).Quoted)
	nested := Holder{Run: "dag/outer/nested/one"}
	assert.Equal(t, []Holder{nested}, said(Reason{Code: contract.CodeLaneBusy, Detail: "held by " + nested.Run, Holder: &nested}).Runs, "the run of a sub-DAG, not its task")

	assert.True(t, StandingOf(StandingFacts{Paused: true, PauseNote: text}).Quoted)
	assert.False(t, StandingOf(StandingFacts{Paused: true, PauseNote: text, PausedBy: "ann"}).Quoted)
	assert.False(t, StandingOf(StandingFacts{Paused: true}).Quoted)
	assert.True(t, StandingOf(StandingFacts{Fault: text}).Quoted)

	assert.True(t, RunStandingOf(RunStandingFacts{Open: true, Paused: true, PauseNote: text}).Quoted)
	failed := RunStandingOf(RunStandingFacts{Failure: text})
	assert.True(t, failed.Quoted)
	assert.Empty(t, failed.Runs)
	waits := RunStandingOf(RunStandingFacts{Open: true, Waiting: "held by " + scrubRun})
	assert.False(t, waits.Quoted)
	assert.Equal(t, []Holder{{Run: scrubRun}}, waits.Runs)
}

func TestChangesInOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"policy.retry_limit: 0", "policy.retry_limit: 3", "policy.retry_limit: 0 → 3", "retry_limit 0 → 3"},
		{"times: every day at 2", "times: every day at 03:00", "times: every day at 2 → every day at 03:00", "times"},
		{"a: 1; b: 2", "a: 2; b: 3", "a: 1; b: 2 → a: 2; b: 3", "settings"},
		{"slots: 2", "cordoned: yes", "slots: 2 → cordoned: yes", "settings"},
		{"", "paused: new disks", "paused: new disks", "settings"},
		{"active", "", "active", "settings"},
	} {
		assert.Equal(t, c[2], TextChange(c[0], c[1]))
		assert.Equal(t, c[3], TextBriefly(c[0], c[1]))
	}
	change := contract.FieldChange{Path: "policy.retry_limit", Before: "0", After: "3"}
	path, was, is, ok := contract.SettingOf(change.Sides())
	assert.True(t, ok)
	assert.Equal(t, []string{change.Path, change.Before, change.After}, []string{path, was, is}, "SettingOf is the inverse of Sides")
}

func TestALostPageIsNotRetried(t *testing.T) {
	t.Parallel()
	failed := func(message string) contract.Code {
		return GroupFailures([]contract.JobError{{Message: message}})[0].Code
	}
	for _, message := range []string{TextPageLost, contract.CodePageLost.Wrap(errors.New("read page/x")).Error()} {
		help := RemedyOfFailure(failed(message), scrubRun, "scrub")
		assert.Contains(t, help.Text(), "`roundsman start scrub`", message)
		submitted := RemedyOfFailure(failed(message), contract.AdHocWorkflowID("scrub", "x"), "scrub")
		assert.True(t, submitted.Actions == nil && strings.Contains(submitted.Hint, "submit"), message)
		assert.Empty(t, RemedyOfFailure(failed(message), "dag/release/v1", ""))
	}
	for _, message := range []string{"exit 1", "read wal: the page is lost", "fsck: PAGE_LOST: block 7"} {
		assert.Empty(t, RemedyOfFailure(failed(message), scrubRun, "scrub"), message)
	}
}

func TestObjectsHaveTheirPages(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]*Holder{
		scrubRun:                {Run: scrubRun},
		scrubRun + "/job-00001": {Run: scrubRun, Item: "job-00001"},
		"dag/release/v1":        {Run: "dag/release/v1"},
		"dag/release/v1/deploy": {Run: "dag/release/v1/deploy"},
		"disk-io":               nil,
		"worker/node-a":         nil,
		"":                      nil,
	} {
		assert.Equal(t, want, RunOf(object), object)
	}
	for object, want := range map[string]*Target{
		"worker/node-a":         {Worker: "node-a"},
		"worker/node-a/disk":    nil,
		"jobtype/scrub":         {JobType: "scrub"},
		"jobtype/scrub/vol-1":   {JobType: "scrub"},
		scrubRun + "/job-00001": {Run: scrubRun, Item: "job-00001"},
		"dag/release/v1":        {Run: "dag/release/v1"},
		"":                      {JobType: "scrub"},
		"pool/db":               nil,
	} {
		assert.Equal(t, want, TargetOf(contract.AuditEntry{Object: object, JobType: "scrub"}), object)
	}
	for code, want := range map[contract.Code]map[string][]Target{
		contract.CodePaused:      {scrubRun: {{Run: scrubRun}}, "scrub": nil, "": nil},
		contract.CodeRecovering:  {scrubRun + ", dag/release/v1": {{Run: scrubRun}, {Run: "dag/release/v1"}}},
		contract.CodeLaneBusy:    {"tape": {{Lane: "tape"}}},
		contract.CodePoolFull:    {"db": {{Pool: "db"}}},
		contract.CodeClaimHeld:   {"dag/release/v1": {{Object: "dag/release/v1"}}},
		contract.CodeUnreachable: {"node-a": {{Worker: "node-a"}}, "": nil},
		contract.CodeWorkerLimit: {"node-a, node-b": {{Worker: "node-a"}, {Worker: "node-b"}}},
		contract.CodeSlots:       {NameSome(slices.Repeat([]string{"node-a"}, MaxNamed+1)): slices.Repeat([]Target{{Worker: "node-a"}}, MaxNamed)},
		contract.CodeApproval:    {"go-ahead": nil},
		contract.CodeWorkerLost:  {"node-a": {{Worker: "node-a"}}},
		contract.CodeDraining:    {"node-a": {{Worker: "node-a"}}},
	} {
		for object, targets := range want {
			assert.Equal(t, targets, Reason{Code: code, Object: object}.withMentions().Targets, "%s(%s)", code, object)
		}
	}
	assert.Equal(t, "dag/release/v1", Reason{Of: "dag/release/v1", Detail: "it waits"}.withMentions().OfRun.Run)
}
