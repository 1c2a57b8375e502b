package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func needs(objects []string, pools ...string) Request {
	r := Request{ID: "job-1.1"}
	for _, object := range objects {
		r.Objects = append(r.Objects, Object{Name: object})
	}
	for _, pool := range pools {
		r.Pools = append(r.Pools, Amount{Pool: pool, N: 1, Size: 1})
	}
	return r
}

func (p *play) overtake(t *testing.T, r Request) {
	t.Helper()
	for i := range MaxOvertakes {
		who := fmt.Sprintf("passes-%d", i)
		require.Equal(t, []string{who + " granted"}, told(p.ask(who, r)))
		p.release(who)
	}
}

// TestAPoolIsNotKeptWhileAnObjectIsHeld: a job that is a DAG holds an object, and its tasks
// request a pool. A request for both must not reserve the pool: neither would ever continue.
func TestAPoolIsNotKeptWhileAnObjectIsHeld(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("parent", needs([]string{"x"}))
	assert.Empty(t, p.ask("both", needs([]string{"x"}, "db")))
	p.overtake(t, needs(nil, "db"))
	assert.Equal(t, []string{"child granted"}, told(p.ask("child", needs(nil, "db"))))
	assert.Empty(t, p.ask("late", needs([]string{"x"})), "the object is kept")
	for _, use := range p.d.View(everything{}).Objects[0].Waiting {
		assert.Equal(t, use.WorkflowID == "both", use.Kept, use.WorkflowID)
	}
	assert.Empty(t, p.release("parent"), "it waits for the pool now, with the object kept")
	assert.Empty(t, p.ask("other", needs(nil, "db")), "and so is the pool from now on")
	assert.Equal(t, []string{"both granted"}, told(p.release("child")))
	assert.Equal(t, []string{"late granted", "other granted"}, told(p.release("both")))
}

// TestWhatIsKeptForTooLongIsGivenUp: a task holds one pool and the tasks of its sub-DAG request
// another; a third request reserves either.
func TestWhatIsKeptForTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, pools := range [][]string{{"a", "b"}, {"b", "a"}} {
		p := ready()
		outer, inner := pools[0], pools[1]
		p.ask("inner-1", needs(nil, inner))
		assert.Empty(t, p.ask("both", needs(nil, "a", "b")))
		p.overtake(t, needs(nil, outer))
		p.ask("parent", needs(nil, outer))
		p.release("inner-1")
		granted := told(p.ask("child", needs(nil, inner)))
		if len(granted) == 0 {
			until := p.d.NextDeadline()
			require.Equal(t, p.now.Add(ReserveLimit), until)
			p.now = until
			granted = told(p.step(Tick{}))
		}
		assert.Equal(t, []string{"child granted"}, granted)
		assert.Empty(t, p.ask("next", needs(nil, outer)), "what is missing is kept all the same")
		p.release("child")
		assert.Contains(t, told(p.release("parent")), "both granted")
	}
}

// TestPatienceGrows: the reservation time grows with the wait.
func TestPatienceGrows(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("holds-a", needs(nil, "a"))
	p.ask("both", needs(nil, "a", "b"))
	p.overtake(t, needs(nil, "b"))
	p.ask("holds-b", needs(nil, "b"))
	free, held := "a", "b"
	for i := range 12 {
		p.release("holds-" + free)
		wait := ReserveLimit << min(i, maxRounds)
		require.Equal(t, p.now.Add(wait), p.d.NextDeadline(), "%d", i)
		p.now = p.now.Add(wait)
		p.step(Tick{})
		require.Equal(t, []string{"holds-" + free + " granted"}, told(p.ask("holds-"+free, needs(nil, free))))
		free, held = held, free
	}
	p.now = p.now.Add(time.Second)
	p.release("holds-a")
	assert.Equal(t, []string{"both granted"}, told(p.release("holds-b")))
	assert.True(t, p.d.NextDeadline().IsZero())
}
