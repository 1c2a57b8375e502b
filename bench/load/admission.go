package load

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/jobtype"
)

// keysPer is how many dedupe keys there are for each waiter.
const keysPer = 10

// fixture is a core and its clock.
type fixture struct {
	core *admission.Core
	now  time.Time
}

func holder(kind string, i int) contract.AdmissionHolder {
	return contract.AdmissionHolder{WorkflowID: fmt.Sprintf("%s/%06d", kind, i), FirstRunID: "first"}
}

func newFixture(fill func(w *fixture)) *fixture {
	w := &fixture{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.core = admission.New(w.now, admission.Durable{})
	w.next(admission.Expected{Final: true})
	fill(w)
	return w
}

func (w *fixture) next(event admission.Event) []admission.Decision {
	w.now = w.now.Add(time.Millisecond)
	return w.core.Next(w.now, event)
}

func (w *fixture) ask(who contract.AdmissionHolder, jobType string, item contract.AdmissionItem) {
	w.next(admission.Requested{
		Holder: who, JobType: jobType, Grace: jobtype.Duration(time.Minute), DeclaredAt: w.now, Items: []contract.AdmissionItem{item},
	})
}

func (w *fixture) release(who contract.AdmissionHolder) {
	w.next(admission.Requested{Holder: who, ReleaseAll: true})
}

func pool(priority int) contract.AdmissionItem {
	return contract.AdmissionItem{ID: "r", Pools: []contract.AdmissionAmount{{Pool: "db", N: 1, Size: 1}}, Priority: priority}
}

func object(i int) contract.AdmissionItem {
	return contract.AdmissionItem{ID: "r", Objects: []contract.AdmissionObject{{Name: fmt.Sprintf("volume/%06d", i)}}}
}

func lane() contract.AdmissionItem { return contract.AdmissionItem{ID: "lane", Lane: "default"} }

func keys(from, n int) []byte {
	list := make([]uint64, n)
	for i := range list {
		list[i] = contract.DedupeHash("scrub", fmt.Sprint(from+i))
	}
	return admission.PackKeys(list)
}

// Admission returns the cases of an admission core with n waiters and n objects. Each
// step changes the core and leaves it as it was.
func Admission(n int) []Case {
	return append(waitingCases(n), heldCases(n)...)
}

func waitingCases(n int) []Case {
	pools := newFixture(func(w *fixture) {
		for i := range n + 1 {
			w.ask(holder("pool", i), "scrub", pool(i%3))
		}
	})
	first := 0
	lanes := newFixture(func(w *fixture) {
		for i := range n + 1 {
			w.ask(holder("lane", i), fmt.Sprintf("type-%06d", i), lane())
		}
	})
	inTurn := 0
	return []Case{
		{"repeat of a waiter", 1, func() { pools.ask(holder("pool", n/2), "scrub", pool((n/2)%3)) }},
		{"a waiter comes and goes", 2, func() {
			pools.ask(holder("pool", n+7), "scrub", pool(1))
			pools.release(holder("pool", n+7))
		}},
		{"a pool is handed over", 2, func() {
			view := pools.core.Pool("db")
			who := contract.AdmissionHolder{WorkflowID: view.Holders[0].WorkflowID, FirstRunID: "first"}
			pools.release(who)
			first++
			pools.ask(who, "scrub", pool(first%3))
		}},
		{"a lane is handed over", 2, func() {
			who := holder("lane", inTurn%(n+1))
			lanes.release(who)
			lanes.ask(who, fmt.Sprintf("type-%06d", inTurn%(n+1)), lane())
			inTurn++
		}},
		{"a tick", 1, func() { pools.next(admission.Tick{}) }},
		{"the view", 1, func() { pools.core.View(contract.AdmissionFilter{}) }},
		{"the view of a run", 1, func() { pools.core.View(contract.AdmissionFilter{WorkflowID: holder("pool", n/2).WorkflowID}) }},
	}
}

func heldCases(n int) []Case {
	claims := newFixture(func(w *fixture) {
		w.ask(holder("keys", 0), "scrub", contract.AdmissionItem{ID: "claims", Keys: keys(0, keysPer*n)})
	})
	objects := newFixture(func(w *fixture) {
		for i := range n {
			w.ask(holder("object", i), "scrub", object(i))
		}
	})
	budget := &contract.RetryBudget{PerKey: &contract.RetryBudgetRule{Count: 5, Window: jobtype.Duration(time.Hour), DisableFor: jobtype.Duration(time.Hour)}}
	ended := 0
	return []Case{
		{"a job ends and its key is claimed again", 2, func() {
			ended++
			key := keys(ended%(keysPer*n), 1)
			claims.next(admission.Requested{Holder: holder("keys", 0), JobType: "scrub", Endings: []contract.AdmissionEndings{{At: claims.now, Done: key}}})
			claims.ask(holder("keys", 0), "scrub", contract.AdmissionItem{ID: fmt.Sprint("again-", ended), Keys: key})
		}},
		{"an attempt fails", 1, func() {
			ended++
			claims.next(admission.Requested{Holder: holder("keys", 0), JobType: "scrub", Budget: budget, Endings: []contract.AdmissionEndings{{
				At: claims.now, Failed: []contract.AdmissionFailure{{DedupeKey: fmt.Sprint(ended), Attempt: fmt.Sprint(ended), At: claims.now}},
			}}})
		}},
		{"an object is handed over", 3, func() {
			ended++
			i := ended % n
			before, after := holder("object", i), holder("other", i)
			objects.ask(after, "scrub", object(i))
			objects.release(before)
			objects.ask(before, "scrub", object(i))
			objects.release(after)
		}},
		{"a holder ends", 2, func() {
			ended++
			who := holder("gone", ended)
			objects.ask(who, "scrub", object(n+1))
			objects.next(admission.Closed{Holder: who})
			objects.now = objects.now.Add(time.Minute)
		}},
		{"the view of objects", 1, func() { objects.core.View(contract.AdmissionFilter{}) }},
	}
}
