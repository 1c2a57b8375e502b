package nodee2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/itemlist"
	"github.com/roundsman/roundsman/starter/joblogs"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
	"github.com/roundsman/roundsman/workers/recall"
)

// without runs a command while no control plane runs. Its answer is marked as incomplete.
func (s *site) without(args ...string) clitest.Outcome {
	s.T.Helper()
	p := s.Start(args...)
	require.Equal(s.T, 1, p.Code(s.T, time.Minute), "%v: %s", args, p.Stderr.Last())
	require.Contains(s.T, p.Stderr.String(), "CONTROL_PLANE_DOWN", "%v", args)
	require.Contains(s.T, p.Stderr.String(), "; this is the state of ", "%v", args)
	return clitest.Outcome{T: s.T, Stdout: p.Stdout.String()}
}

// recalling is a client as a command has it.
func (s *site) recalling() starter.Runs {
	s.T.Helper()
	client, err := starter.Dial(s.T.Context(), starter.Options{Address: s.Server.Address(), AskWithin: time.Second, Recall: recall.Run})
	require.NoError(s.T, err)
	s.T.Cleanup(client.Close)
	return client.Runs()
}

// remembered lists the items of a run from its history.
func (s *site) remembered(ref starter.RunRef, filter itemlist.Filter) []starter.Item {
	s.T.Helper()
	ctx := starter.WithMemory(s.T.Context())
	filter.Limit = starter.All
	items, total, err := itemlist.List(ctx, s.recalling(), ref, filter, time.Now())
	require.NoError(s.T, err)
	require.False(s.T, starter.AsOf(ctx).IsZero())
	require.Len(s.T, items, total)
	return items
}

type recalledList struct {
	Items []starter.Item `json:"items"`
	Total int            `json:"total"`
	AsOf  time.Time      `json:"as_of"`
}

// TestTheJobsOfAGroupAreListedWithoutAControlPlane: the group has jobs in pages, in its record and in its window.
func TestTheJobsOfAGroupAreListedWithoutAControlPlane(t *testing.T) {
	t.Parallel()
	const jobs = 450
	s := newSite(t)
	s.letGo()
	s.plainWorkers("node-a")
	run := s.keyedGroup("group/plain", plainParams{Jobs: jobs})
	ref := starter.RunRef{WorkflowID: run.GetID()}
	s.awaitBook("the group works", func(b book) bool { return len(b.of("end")) >= 40 })

	// In the middle of its work: each job is listed once, and each one listed as completed has ended.
	s.control.Kill()
	seen := map[string]bool{}
	busy := s.remembered(ref, itemlist.Filter{})
	ended := s.book().of("end").perKey()
	for _, one := range busy {
		assert.False(t, seen[one.ID], one.ID)
		seen[one.ID] = true
		if one.State == contract.JobCompleted {
			assert.Positive(t, ended[one.ID], one.ID)
		}
	}
	assert.Len(t, seen, jobs)
	s.control = s.Start("server")

	// At rest: the answer equals that of the control plane.
	s.awaitBook("the group works on", func(b book) bool { return len(b.of("end")) >= len(ended)+50 })
	s.holdAgain()
	states := func() map[string]int {
		counted := map[string]int{}
		if items, _, err := s.Client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All}); err == nil { // The group may store jobs.
			for _, one := range items {
				counted[one.State]++
			}
		}
		return counted
	}
	testsuite.WaitFor(t, time.Minute, "all slots wait and all ends are known", func() bool {
		now := states()
		return now[contract.JobRunning] == slotsOfPlain && now[contract.JobCompleted] == len(s.book().of("end"))
	})
	said, _, err := s.Client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All})
	require.NoError(t, err)
	s.control.Kill()

	facts := factsOf(said)
	assert.Equal(t, facts, factsOf(s.remembered(ref, itemlist.Filter{})))
	for _, state := range []string{contract.JobCompleted, contract.JobRunning, contract.JobPending, contract.JobFailed} {
		of := slices.DeleteFunc(slices.Clone(facts), func(fact string) bool { return !strings.Contains(fact, " "+state+" ") })
		assert.Equal(t, of, factsOf(s.remembered(ref, itemlist.Filter{ItemFilter: starter.ItemFilter{States: []string{state}}})), state)
	}
	described, err := s.Client.Runs().Describe(t.Context(), ref)
	require.NoError(t, err)
	running := s.remembered(ref, itemlist.Filter{ItemFilter: starter.ItemFilter{States: []string{contract.JobRunning}, Worker: "node-a"}})
	assert.Len(t, described.Active, len(running))
	for i, one := range running {
		assert.Equal(t, described.Active[i].ID, one.ID)
	}
	for _, n := range []int{1, jobs / 2, jobs} { // Of the record, the window and the backlog.
		for _, text := range []string{fmt.Sprint(n), keyOf(n)} {
			found := s.remembered(ref, itemlist.Filter{Find: text})
			require.Len(t, found, 1, text)
			assert.Equal(t, contract.JobID(n), found[0].ID)
			assert.Equal(t, keyOf(n), found[0].DedupeKey)
		}
	}

	listed := clitest.Decode[recalledList](s.without("jobs", "group/plain", "-s", "running", "-o", "json"))
	assert.Equal(t, slotsOfPlain, listed.Total)
	assert.False(t, listed.AsOf.IsZero())
	shown := clitest.Decode[struct {
		starter.ItemDetail
		AsOf time.Time `json:"as_of"`
	}](s.without("show", "group/plain/1", "-o", "json"))
	assert.Equal(t, contract.JobCompleted, shown.State)
	assert.Equal(t, listed.AsOf, shown.AsOf)
	printed := clitest.Decode[joblogs.Part](s.without("logs", "group/plain/1", "-o", "json"))
	assert.Equal(t, []string{"node-a", contract.JobCompleted}, []string{printed.Worker, printed.State})
	explained := clitest.Decode[struct {
		Now struct {
			InFlight int `json:"in_flight"`
		} `json:"now"`
		AsOf time.Time `json:"as_of"`
	}](s.without("explain", "group/plain", "-o", "json"))
	assert.Equal(t, slotsOfPlain, explained.Now.InFlight)
	assert.Equal(t, listed.AsOf, explained.AsOf)
	s.without("show", "group/plain").Says("unanswered", fmt.Sprintf("%d running", slotsOfPlain))

	s.control = s.Start("server")
	testsuite.WaitFor(t, time.Minute, "the control plane answers", func() bool { return states()[contract.JobRunning] == slotsOfPlain })
	again := clitest.Decode[recalledList](clitest.Outcome{T: t, Stdout: s.Command("jobs", "group/plain", "-s", "running", "-o", "json")})
	assert.Equal(t, factsOf(listed.Items), factsOf(again.Items))
	assert.Zero(t, again.AsOf)
	s.letGo()
	result := s.plainEnd(run)
	assert.Equal(t, completed(jobs), result.Counts)
}

// factsOf are the items as text, in their order.
func factsOf(items []starter.Item) []string {
	facts := []string{}
	for _, i := range items {
		facts = append(facts, fmt.Sprintf("%s %s %s %s %s %d %s", i.ID, i.State, i.DedupeKey, i.Summary, i.Worker, i.Attempt, i.Needs))
	}
	return facts
}

// TestTheTasksOfADAGAreListedWithoutAControlPlane.
func TestTheTasksOfADAGAreListedWithoutAControlPlane(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	script := fmt.Sprintf(`echo start >> %[1]s/starts; while [ ! -e %[1]s/go ]; do sleep 0.1; done`, s.Dir)
	loaded, err := spec.Load("recalled.yaml", fmt.Appendf(nil, `
version: 1
name: recalled
tasks:
  - {id: each, for_each: [x, y, z], noop: true}
  - {id: long, needs: [each], heartbeat_timeout: 1h, timeout: 2h, command: [sh, -c, %q]}
  - {id: blocked, needs: [long], noop: true}
`, script))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	ref, err := s.Client.DAGs().Run(t.Context(), compiled, starter.DAGOptions{})
	require.NoError(t, err)
	s.awaitStart("start", 1)
	said, _, err := s.Client.Runs().Items(t.Context(), ref, starter.ItemFilter{})
	require.NoError(t, err)
	require.Len(t, said, 5)
	s.control.Kill()

	assert.Equal(t, factsOf(said), factsOf(s.remembered(ref, itemlist.Filter{})))
	assert.Equal(t, factsOf(said[:3]), factsOf(s.remembered(ref, itemlist.Filter{ItemFilter: starter.ItemFilter{States: []string{"completed"}}})))
	assert.Equal(t, factsOf(said[3:4]), factsOf(s.remembered(ref, itemlist.Filter{Find: "long"})))
	listed := clitest.Decode[recalledList](s.without("show", ref.WorkflowID, "-o", "json"))
	assert.Equal(t, factsOf(said), factsOf(listed.Items))
	assert.False(t, listed.AsOf.IsZero())
	named := clitest.Decode[recalledList](s.without("jobs", "recalled", "-o", "json"))
	assert.Equal(t, factsOf(said), factsOf(named.Items), "a silent worker registry hides no run")
	explained := clitest.Decode[struct {
		State   string `json:"state"`
		Reasons []struct {
			Code   string `json:"code"`
			Object string `json:"object"`
		} `json:"reasons"`
	}](s.without("explain", ref.WorkflowID+"/blocked", "-o", "json"))
	require.Len(t, explained.Reasons, 2)
	assert.Equal(t, "CONTROL_PLANE_DOWN", explained.Reasons[0].Code)
	assert.Equal(t, "UPSTREAM", explained.Reasons[1].Code)
	assert.Contains(t, explained.Reasons[1].Object, "long")

	s.Start("server")
	s.letGo()
	assert.Equal(t, contract.OutcomeCompleted, s.dagResult(ref).Outcome)
}
