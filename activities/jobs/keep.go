package jobs

import (
	"errors"
	"sync"
	"time"
)

// A server that hangs does not answer within the request timeout, and the process may be killed meanwhile.
const keepAfter = time.Second

var errNoAnswer = errors.New("no answer yet")

type kept struct {
	activities *Activities
	delivery   delivery
	timer      *time.Timer
	once       sync.Once
	forget     func()
}

// keepUnlessTaken puts d into the outbox unless it is accepted soon.
func (a *Activities) keepUnlessTaken(d delivery) *kept {
	k := &kept{activities: a, delivery: d}
	k.timer = time.AfterFunc(keepAfter, func() { k.keep(errNoAnswer) })
	return k
}

func (k *kept) keep(reason error) {
	k.once.Do(func() { k.forget = k.activities.store(k.delivery, reason) })
}

// taken ends it: nothing is left to deliver.
func (k *kept) taken() {
	k.timer.Stop()
	k.once.Do(func() {})
	if k.forget != nil {
		k.forget()
	}
}

// store returns a function that removes d. A delivery that is in no outbox is counted.
func (a *Activities) store(d delivery, reason error) (remove func()) {
	log := a.options.Logger.With("job", d.Outcome.JobID, "group", d.WorkflowID)
	log.Warn("the server did not take an outcome, repeating until it does", "error", reason)
	if a.options.Outbox != nil {
		remove, err := a.options.Outbox.put(d)
		if err == nil {
			return remove
		}
		log.Error("could not keep an undelivered outcome on disk", "error", err)
	}
	a.unkept.Add(1)
	return func() { a.unkept.Add(-1) }
}

// Undelivered counts the undelivered outcomes, including those in the outbox.
func (a *Activities) Undelivered() int {
	count := int(a.unkept.Load())
	if a.options.Outbox != nil {
		count += a.options.Outbox.count()
	}
	return count
}
