package admission

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestReleaseWinsOverAnAssertionInOneMessage: the job ended in the workflow task that received
// the query, so the message asserts and releases the same grant.
func TestReleaseWinsOverAnAssertionInOneMessage(t *testing.T) {
	t.Parallel()
	p := ready()
	grant := granted(t, p.ask("a", db(5)))
	p.step(Recover{})
	p.step(Expected{IDs: []string{"a"}, Final: true})
	p.step(Requested{Holder: group("a"), JobType: "a", Reassert: true, Held: []Held{{AdmissionItem: db(5), Fence: grant.Fence}}, Release: []string{"db"}})
	assert.Zero(t, p.d.Pool("db").Used)
	assert.Equal(t, []string{"b granted"}, told(p.ask("b", db(5))))
	p.step(Requested{Holder: group("b"), JobType: "b", Reassert: true, Held: []Held{{AdmissionItem: db(5), Fence: grant.Fence}}, ReleaseAll: true})
	assert.Zero(t, p.d.Pool("db").Used)
}

// run is the holder's side: its grants, its requests, and its sent messages, which arrive in
// order but later.
type run struct {
	id      string
	held    []Held
	waiting []Request
	sent    []Requested
	n       int
}

func (r *run) message() Requested {
	return Requested{Holder: group(r.id), JobType: r.id, Grace: 0, DeclaredAt: epoch}
}

// TestNothingLeaksWhenJobsEndDuringARecovery: jobs of several runs request, work and end while
// admission is terminated and reset repeatedly. Messages are delayed, and one message may assert
// and release. When all jobs have ended, everything is free.
func TestNothingLeaksWhenJobsEndDuringARecovery(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := ready()
		runs := []*run{{id: "a"}, {id: "b"}, {id: "c"}}
		resources := func() Request {
			return Request{
				Pools:   []Amount{{Pool: "db", N: rapid.IntRange(1, 3).Draw(t, "n"), Size: 4}},
				Objects: []Object{{Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "object"), Shared: rapid.Bool().Draw(t, "shared")}},
			}
		}
		var deliver func(r *run)
		answer := func(decisions []Decision) {
			for _, decision := range decisions {
				switch d := decision.(type) {
				case Granted:
					for _, r := range runs {
						if group(r.id) != d.Holder {
							continue
						}
						if at := slices.IndexFunc(r.waiting, func(q Request) bool { return q.ID == d.ID }); at >= 0 {
							r.held = append(r.held, Held{AdmissionItem: r.waiting[at], Fence: d.Fence})
							r.waiting = slices.Delete(r.waiting, at, at+1)
						}
					}
				case Lost:
					for _, r := range runs {
						if group(r.id) == d.Holder {
							r.held = slices.DeleteFunc(r.held, func(h Held) bool { return h.ID == d.ID })
						}
					}
				case Refused:
					t.Fatalf("refused: %v", d.AdmissionRefusal)
				}
			}
		}
		deliver = func(r *run) {
			if len(r.sent) > 0 {
				m := r.sent[0]
				r.sent = r.sent[1:]
				answer(p.step(m))
			}
		}
		// ends releases a grant, in a new message or in the last undelivered one: a workflow
		// collects its releases in one message.
		ends := func(r *run, at int) {
			id := r.held[at].ID
			r.held = slices.Delete(r.held, at, at+1)
			if n := len(r.sent); n > 0 && rapid.Bool().Draw(t, "joins") {
				last := &r.sent[n-1]
				last.Items = slices.DeleteFunc(last.Items, func(q Request) bool { return q.ID == id }) // A run does not request an item that it releases.
				last.Release = append(last.Release, id)
				return
			}
			m := r.message()
			m.Release = []string{id}
			r.sent = append(r.sent, m)
		}
		restart := func() {
			if rapid.Bool().Draw(t, "reset") {
				answer(p.step(Recover{}))
			} else {
				p.d = New(p.now, p.d.Durable())
			}
			for _, r := range runs {
				m := r.message()
				m.Reassert, m.Held, m.Items = true, slices.Clone(r.held), slices.Clone(r.waiting)
				if lost := rapid.IntRange(0, len(r.sent)).Draw(t, "lost"); lost > 0 {
					r.sent = r.sent[lost:] // The earlier admission received them.
				}
				r.sent = append(r.sent, m)
			}
			answer(p.step(Expected{IDs: []string{"a", "b", "c"}, Final: true}))
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			r := runs[rapid.IntRange(0, 2).Draw(t, "run")]
			p.pass(time.Millisecond)
			switch act := rapid.IntRange(0, 9).Draw(t, "act"); {
			case act < 3:
				r.n++
				q := resources()
				q.ID = fmt.Sprint(r.n)
				r.waiting = append(r.waiting, q)
				m := r.message()
				m.Items = []Request{q}
				r.sent = append(r.sent, m)
			case act < 6 && len(r.held) > 0:
				ends(r, rapid.IntRange(0, len(r.held)-1).Draw(t, "which"))
			case act < 9:
				deliver(r)
			default:
				restart()
			}
		}
		for range 500 {
			busy := false
			for _, r := range runs {
				for len(r.sent) > 0 {
					deliver(r)
				}
				for len(r.held) > 0 {
					ends(r, 0)
				}
				busy = busy || len(r.sent)+len(r.held)+len(r.waiting) > 0
			}
			if !busy {
				break
			}
		}
		for _, r := range runs {
			require.Empty(t, r.waiting, "%s waits for ever", r.id)
		}
		view := p.d.View(everything{})
		require.Empty(t, view.Objects)
		require.Zero(t, p.d.Pool("db").Used, "a place leaks")
		require.Empty(t, view.Pools)
	})
}

// TestFencesNeverGoBackwards: a termination or a reset starts the next admission under a clock
// that is behind.
func TestFencesNeverGoBackwards(t *testing.T) {
	t.Parallel()
	p := ready()
	last := granted(t, p.ask("a", Request{ID: "o", Objects: []Object{{Name: "volume/1"}}, Fences: 1 << 20}))
	p.release("a")
	earlier := epoch.Add(-24 * time.Hour)
	next := New(earlier, p.d.Durable())
	next.Next(earlier, Expected{Final: true})
	decisions := next.Next(earlier, Requested{Holder: group("b"), Items: []Request{volume("o", "volume/1")}})
	assert.GreaterOrEqual(t, granted(t, decisions).Fence, last.Fence+last.Fences)

	reset := New(earlier, Durable{})
	reset.Next(earlier, Expected{Final: true})
	reset.Next(earlier, Recover{})
	reset.Next(earlier, Inherited{Durable: p.d.Durable()})
	reset.Next(earlier, Expected{Final: true})
	decisions = reset.Next(earlier, Requested{Holder: group("b"), Items: []Request{volume("o", "volume/1")}})
	assert.GreaterOrEqual(t, granted(t, decisions).Fence, last.Fence+last.Fences)
}

// TestWhatIsInheritedLateLeavesOperatorsAlone: operators resize a pool during the query of the
// run before the reset.
func TestWhatIsInheritedLateLeavesOperatorsAlone(t *testing.T) {
	t.Parallel()
	p := ready()
	p.step(Resized{Pool: "db", Size: 7})
	p.step(Resized{Pool: "net", Size: 8})
	before := p.d.Durable()
	p.d = New(epoch, Durable{})
	p.step(Resized{Pool: "db", Size: 0})
	restored, err := Restore(p.d.Snapshot())
	require.NoError(t, err)
	p.d = restored
	p.step(Inherited{Durable: before})
	assert.Equal(t, 1, p.d.Pool("db").Size)
	assert.Equal(t, 8, p.d.Pool("net").Size)
}
