package retry_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/jobtype"
)

var now = time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)

func job(n int, state string, keys ...string) retry.Job {
	j := retry.Job{ID: fmt.Sprintf("job-%06d", n), State: state}
	for _, key := range keys {
		j.Work.Proposals = append(j.Work.Proposals, jobtype.Proposal{DedupeKey: key})
	}
	if len(keys) == 1 {
		j.DedupeKey = keys[0]
	}
	return j
}

func keysOf(units []retry.Unit) (keys []string) {
	for _, u := range units {
		keys = append(keys, u.DedupeKey)
	}
	return keys
}

func whys(kept []retry.Kept) (list []string) {
	for _, k := range kept {
		list = append(list, fmt.Sprintf("%s%s %s", k.ID, k.Summary, k.Why))
	}
	return list
}

func TestAChoiceSelectsJobs(t *testing.T) {
	jobs := []retry.Job{
		job(10, contract.JobCanceled, "c"),
		job(2, contract.JobFailed, "a", "b"),
		job(3, contract.JobStale, "s"),
		{Summary: "dump on node-b", State: contract.JobNotStarted},
		job(4, contract.JobFailed),
		job(5, contract.JobRunning, "r"),
	}
	const lost = "dump on node-b "
	for _, c := range []struct {
		name          string
		choice        retry.Choice
		keys          []string
		kept, unknown []string
	}{
		{"everything", retry.Choice{}, []string{"a", "b", "s", "r", "c"}, []string{"job-000004 no_proposal", lost + "no_proposal"}, nil},
		{"failed", retry.Choice{Failed: true}, []string{"a", "b", "s", "r"}, []string{"job-000004 no_proposal", "job-000010 not_chosen", lost + "not_chosen"}, nil},
		{"missed", retry.Choice{Missed: true}, []string{"c"}, []string{"job-000002 not_chosen", "job-000003 not_chosen", "job-000004 not_chosen", "job-000005 not_chosen", lost + "no_proposal"}, nil},
		{"both", retry.Choice{Failed: true, Missed: true}, []string{"a", "b", "s", "r", "c"}, []string{"job-000004 no_proposal", lost + "no_proposal"}, nil},
		{"by number, id and key", retry.Choice{Items: []string{"10", "job-000003", "b", "zz", "zz"}}, []string{"a", "b", "s", "c"}, []string{"job-000004 not_chosen", "job-000005 not_chosen", lost + "not_chosen"}, []string{"zz"}},
		{"no item has an empty name", retry.Choice{Items: []string{""}}, nil, []string{"job-000002 not_chosen", "job-000003 not_chosen", "job-000004 not_chosen", "job-000005 not_chosen", "job-000010 not_chosen", lost + "not_chosen"}, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := retry.Select(jobs, c.choice, now)
			assert.Equal(t, c.keys, keysOf(s.Units))
			assert.Equal(t, c.kept, whys(s.Kept))
			assert.Equal(t, c.unknown, s.Unknown)
			assert.Equal(t, 1, s.Missed, "the canceled one; the worker has no proposal")
		})
	}
}

func TestTimesThatHavePassedAreRemoved(t *testing.T) {
	past := jobtype.Proposal{DedupeKey: "past", ExpiresAt: now, NotBefore: now}
	future := jobtype.Proposal{DedupeKey: "future", ExpiresAt: now.Add(1), NotBefore: now.Add(1)}
	s := retry.Select([]retry.Job{{ID: "job-000001", State: contract.JobExpired, Work: contract.JobWork{Proposals: []jobtype.Proposal{past, future}}}}, retry.Choice{}, now)
	require.Len(t, s.Units, 2)
	assert.Equal(t, jobtype.Proposal{DedupeKey: "past"}, s.Units[0].Proposal)
	assert.Equal(t, future, s.Units[1].Proposal)
}

func TestAProposalIsKeptBack(t *testing.T) {
	hold := func(key string, code string) map[string]contract.AdmissionHold {
		return map[string]contract.AdmissionHold{key: {DedupeKey: key, Code: code}}
	}
	claim := map[string]contract.AdmissionUse{"a": {WorkflowID: "group/other"}, "": {WorkflowID: "group/other"}}
	done := map[string]string{"a": "group/retry", "": "group/retry"}
	for _, c := range []struct {
		name  string
		facts retry.Facts
		want  []string
		by    string
	}{
		{name: "nothing is known", want: nil},
		{"done by a retry", retry.Facts{Retried: done, Claims: claim, Holds: hold("a", contract.HoldMarkedDone)}, []string{"job-000001 done_by_retry"}, "group/retry"},
		{"active elsewhere", retry.Facts{Claims: claim}, []string{"job-000001 claimed"}, "group/other"},
		{"held back", retry.Facts{Holds: hold("a", contract.HoldRetryBudget), Claims: claim}, []string{"job-000001 held_back"}, ""},
		{"marked done", retry.Facts{Holds: hold("a", contract.HoldMarkedDone)}, []string{"job-000001 marked_done"}, ""},
		{"the job type is held back", retry.Facts{Holds: hold("", contract.HoldRetryBudget)}, []string{"job-000001 held_back", "job-000002 held_back", "job-000003 held_back"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := retry.Select([]retry.Job{job(1, contract.JobFailed, "a"), job(2, contract.JobFailed, "b"), job(3, contract.JobFailed, "")}, retry.Choice{}, now)
			c.facts.MostJobs = 10
			again, kept, err := retry.Decide(s.Units, c.facts)
			require.NoError(t, err)
			assert.Equal(t, c.want, whys(kept))
			assert.Len(t, again, 3-len(c.want))
			if len(kept) > 0 {
				assert.Equal(t, c.by, kept[0].By)
			}
		})
	}
}

// The items beyond the room of one run are named, in the order of the jobs.
func TestOneRunTakesOnlySoMuch(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", contract.MaxSubmissionBytes/3) + `"`)
	var units []retry.Unit
	for i := range 5 {
		units = append(units, retry.Unit{Job: retry.Job{DedupeKey: fmt.Sprint(i)}, Proposal: jobtype.Proposal{DedupeKey: fmt.Sprint(i), Params: large, Exclusive: []string{"disk"}}})
	}
	again, kept, err := retry.Decide(units, retry.Facts{MostJobs: 10})
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1"}, keysOf(again), "bytes")
	assert.Len(t, kept, 3)
	again, kept, err = retry.Decide(units, retry.Facts{MostJobs: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"0"}, keysOf(again), "jobs")
	assert.Len(t, kept, 4)
	assert.Equal(t, contract.KeptOverLimit, kept[3].Why)
	for i := range units {
		units[i].Proposal.Exclusive = nil
	}
	again, _, err = retry.Decide(units, retry.Facts{MostJobs: 10})
	require.NoError(t, err)
	assert.Len(t, again, 5, "plain proposals lie in pages")
}

// Each proposal is executed again or kept for a reason that is true, and the first that fit are executed.
func TestNothingIsForgottenAndNothingIsDoneTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f"})
		var units []retry.Unit
		for i := range rapid.IntRange(0, 20).Draw(t, "units") {
			k := key.Draw(t, "key")
			units = append(units, retry.Unit{Job: retry.Job{ID: fmt.Sprint(i), DedupeKey: k}, Proposal: jobtype.Proposal{DedupeKey: k}})
		}
		facts := retry.Facts{Retried: map[string]string{}, Holds: map[string]contract.AdmissionHold{}, Claims: map[string]contract.AdmissionUse{}, MostJobs: rapid.IntRange(0, 21).Draw(t, "most")}
		for range rapid.IntRange(0, 3).Draw(t, "facts") {
			facts.Retried[key.Draw(t, "retried")] = "r"
			facts.Claims[key.Draw(t, "claimed")] = contract.AdmissionUse{WorkflowID: "c"}
			if k := key.Draw(t, "held"); k != "" || rapid.Bool().Draw(t, "all") {
				facts.Holds[k] = contract.AdmissionHold{DedupeKey: k}
			}
		}
		again, kept, err := retry.Decide(units, facts)
		if err != nil {
			t.Fatal(err)
		}
		free := func(k string) bool {
			_, all := facts.Holds[""]
			_, held := facts.Holds[k]
			_, retried := facts.Retried[k]
			_, claimed := facts.Claims[k]
			return !all && !held && (k == "" || !retried && !claimed)
		}
		var want []string
		for _, u := range units {
			if free(u.DedupeKey) {
				want = append(want, u.ID)
			}
		}
		var got, over []string
		for _, u := range again {
			got = append(got, u.ID)
		}
		for _, k := range kept {
			if k.Why == contract.KeptOverLimit {
				over = append(over, k.ID)
			} else if free(k.DedupeKey) {
				t.Fatalf("%s is kept as %s without a reason", k.ID, k.Why)
			}
		}
		if !slices.Equal(append(slices.Clone(got), over...), want) || len(got) != min(len(want), facts.MostJobs) || len(again)+len(kept) != len(units) {
			t.Fatalf("again %v, over the limit %v, kept %d; want %v of at most %d", got, over, len(kept), want, facts.MostJobs)
		}
	})
}
