package nodee2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestNeighboursAreNoticed: a job type with long jobs fills one of two workers. A
// second one does its many jobs on the other worker, is sent back from the first
// a few times only, and uses it soon after it has become free.
func TestNeighboursAreNoticed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const jobs, slots = 320, 4
	s.worker("node-a", "--max-execute", "4")
	s.AwaitFresh("node-a")
	const wide = "global_execution_concurrency: 8, per_worker_execution_concurrency: 4"
	s.hold("long")
	s.apply(group{"long", "steps", wide, slots, 30, 500}, group{"many", "steps", wide, jobs, 1, 500})
	long := s.Begin("long")
	s.awaitBook("the long jobs fill node-a", func(b book) bool { return len(b.typed("long").of("start")) == slots })
	s.worker("node-b", "--max-execute", "4")
	s.AwaitFresh("node-b")
	many := s.Begin("many")
	s.awaitBook("node-b has worked next to the long jobs", func(b book) bool { return len(b.typed("many").of("end")) >= 20 })
	s.letGo()
	assert.Equal(t, contract.OutcomeCompleted, s.Result(long).Outcome)
	ended := s.book().typed("long").of("end")
	free := ended[len(ended)-1].at

	result := s.Result(many)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Equal(t, jobs, result.Counts.Completed)
	assert.LessOrEqual(t, result.Counts.Replacements, 2*slots, "what was sent to node-a while it was full")
	b := s.book().typed("many")
	for key, n := range b.of("start").perKey() {
		assert.Equal(t, 1, n, "%s ran more than once", key)
	}
	there := b.of("start").on("node-a")
	require.NotEmpty(t, there, "node-a is used again")
	before := b.of("end").where(func(e entry) bool { return e.at.Before(free) })
	t.Logf("%d of %d jobs were done next to the long ones, %d were sent back, node-a was used again %s after it was free, for %d jobs",
		len(before), jobs, result.Counts.Replacements, there[0].at.Sub(free).Round(time.Millisecond), len(there))
	assert.GreaterOrEqual(t, len(before), 20, "node-b worked all the time")
	for _, id := range []string{"node-a", "node-b"} {
		assert.LessOrEqual(t, s.book().on(id).worst(), slots, "the slots of %s", id)
	}
}

// TestALaterGroupGetsItsShare: a group keeps the only worker full with short jobs. One
// that comes later gets slots there, and does not wait until the first has done.
func TestALaterGroupGetsItsShare(t *testing.T) {
	t.Parallel()
	s := newSite(t, "node-a")
	const wide = "global_execution_concurrency: 8, per_worker_execution_concurrency: 4"
	s.apply(group{"first", "steps", wide, 320, 1, 200}, group{"later", "steps", wide, 40, 1, 200})
	first := s.Begin("first")
	s.awaitBook("the first group is at work", func(b book) bool { return len(b.typed("first").of("end")) >= 8 })
	later := s.Begin("later")
	for _, ref := range []starter.RunRef{later, first} {
		assert.Equal(t, contract.OutcomeCompleted, s.Result(ref).Outcome)
	}
	ended := s.book().of("end")
	done := ended.typed("later")
	end := done[len(done)-1].at
	left := ended.typed("first").where(func(e entry) bool { return e.at.After(end) })
	t.Logf("the first group had %d of 320 jobs left when the later one had done its 40", len(left))
	assert.NotEmpty(t, left)
}
