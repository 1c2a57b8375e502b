package notify

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// GiveUpAfter is the age at which a delivery is abandoned: a weekend.
	GiveUpAfter = 72 * time.Hour
	firstPause  = 5 * time.Second
	maxPause    = 5 * time.Minute
	// MaxWaiting bounds the queue of a receiver; a newer delivery displaces the oldest.
	MaxWaiting = 200
	// maxKnown bounds the ids by which repeats are recognized.
	maxReceivers = 2 * contract.MaxNotifyReceivers
	maxRecent    = 100
	maxKnown     = 1000
)

// Queue holds the deliveries. It is not safe for concurrent use.
type Queue struct {
	lanes  []*lane // by name
	recent []contract.DeliveryView
	known  []string
}

type lane struct {
	contract.ReceiverHealth

	waiting []contract.Delivery
	next    time.Time
	busy    bool
}

// Restore returns a queue from its state. A delivery in progress is tried again.
func Restore(state *contract.NotifyQueueState) *Queue {
	q := &Queue{}
	if state == nil {
		return q
	}
	for _, r := range state.Receivers {
		q.lanes = append(q.lanes, &lane{ReceiverHealth: r.ReceiverHealth, waiting: slices.Clone(r.Waiting), next: r.Next})
	}
	q.recent, q.known = slices.Clone(state.Recent), slices.Clone(state.Known)
	return q
}

// State returns the input of [Restore].
func (q *Queue) State() *contract.NotifyQueueState {
	state := &contract.NotifyQueueState{Recent: slices.Clone(q.recent), Known: slices.Clone(q.known)}
	for _, l := range q.lanes {
		state.Receivers = append(state.Receivers, contract.NotifyReceiverState{ReceiverHealth: l.ReceiverHealth, Waiting: slices.Clone(l.waiting), Next: l.next})
	}
	return state
}

// SetReceivers sets the receivers. Others keep their queue while it holds deliveries.
func (q *Queue) SetReceivers(known []contract.ReceiverInfo) {
	for _, l := range q.lanes {
		l.Kind = ""
	}
	for _, r := range known {
		if l := q.lane(r.Name); l != nil {
			l.Kind = r.Kind
		}
	}
	q.lanes = slices.DeleteFunc(q.lanes, func(l *lane) bool { return l.Kind == "" && len(l.waiting) == 0 })
}

func (q *Queue) lane(name string) *lane {
	i, found := slices.BinarySearchFunc(q.lanes, name, func(l *lane, name string) int { return cmp.Compare(l.Name, name) })
	if found {
		return q.lanes[i]
	}
	if len(q.lanes) >= maxReceivers {
		return nil
	}
	q.lanes = slices.Insert(q.lanes, i, &lane{ReceiverHealth: contract.ReceiverHealth{Name: name}})
	return q.lanes[i]
}

// Add queues the notices with new ids and returns their number.
func (q *Queue) Add(now time.Time, notices ...contract.Notice) int {
	added := 0
	for _, notice := range notices {
		if slices.Contains(q.known, notice.ID) {
			continue
		}
		if q.known = append(q.known, notice.ID); len(q.known) > maxKnown {
			q.known = q.known[1:]
		}
		added++
		for _, name := range notice.To {
			if l := q.lane(name); l != nil {
				l.append(contract.Delivery{Notification: notice.Notification, Receiver: name, Queued: now})
				q.bound(now, l)
			}
		}
	}
	return added
}

// A test is queued first and without a pause, because an operator waits for it.
func (l *lane) append(d contract.Delivery) {
	if d.Event != contract.NotifyTest {
		l.waiting = append(l.waiting, d)
		return
	}
	first := 0
	if l.busy {
		first = 1
	}
	l.waiting, l.next = slices.Insert(l.waiting, first, d), time.Time{}
}

func (q *Queue) bound(now time.Time, l *lane) {
	if len(l.waiting) <= MaxWaiting {
		return
	}
	oldest := 0
	if l.busy {
		oldest = 1
	}
	for oldest < MaxWaiting && l.waiting[oldest].Event == contract.NotifyTest {
		oldest++
	}
	l.Dropped++
	q.end(now, l.waiting[oldest], contract.DeliveryDropped, "")
	l.waiting = slices.Delete(l.waiting, oldest, oldest+1)
}

// Next returns the due deliveries, at most one per receiver. The caller must report each with [Queue.Done].
func (q *Queue) Next(now time.Time) []contract.Delivery {
	var due []contract.Delivery
	for _, l := range q.lanes {
		if !l.busy && len(l.waiting) > 0 && !l.next.After(now) {
			l.busy = true
			due = append(due, l.waiting[0])
		}
	}
	return due
}

// Wake returns the end of the earliest pause before a delivery; zero if none waits.
func (q *Queue) Wake() time.Time {
	var wake time.Time
	for _, l := range q.lanes {
		if !l.busy && len(l.waiting) > 0 && (wake.IsZero() || l.next.Before(wake)) {
			wake = l.next
		}
	}
	return wake
}

// Done applies the result of a receiver's first delivery.
func (q *Queue) Done(now time.Time, receiver string, result contract.DeliverResult) {
	l := q.lane(receiver)
	if l == nil || !l.busy || len(l.waiting) == 0 {
		return
	}
	l.busy = false
	first := &l.waiting[0]
	first.Attempts++
	if result.Error == "" {
		l.Sent, l.LastSent = l.Sent+1, now
		l.FailingSince, l.Failures, l.Error, l.next = time.Time{}, 0, "", time.Time{}
		q.end(now, *first, contract.DeliverySent, "")
		l.waiting = slices.Delete(l.waiting, 0, 1)
		return
	}
	if l.Failures == 0 {
		l.FailingSince = now
	}
	l.Failures, l.Error = l.Failures+1, result.Error
	l.next = now.Add(pauseAfter(first.Attempts))
	if result.Permanent || now.Sub(first.Queued) >= GiveUpAfter || first.Event == contract.NotifyTest {
		l.Failed++
		q.end(now, *first, contract.DeliveryFailed, result.Error)
		l.waiting = slices.Delete(l.waiting, 0, 1)
		if result.Permanent || first.Event == contract.NotifyTest {
			l.next = now.Add(firstPause)
		}
	}
}

func pauseAfter(attempts int) time.Duration {
	pause := firstPause
	for range attempts - 1 {
		if pause *= 2; pause >= maxPause {
			return maxPause
		}
	}
	return pause
}

func (q *Queue) end(now time.Time, d contract.Delivery, state, fault string) {
	shown := viewOf(d, state)
	shown.Ended, shown.Error = now, fault
	if q.recent = append(q.recent, shown); len(q.recent) > maxRecent {
		q.recent = q.recent[1:]
	}
}

func viewOf(d contract.Delivery, state string) contract.DeliveryView {
	return contract.DeliveryView{ID: d.ID, Event: d.Event, Title: d.Title, Receiver: d.Receiver, State: state, At: d.At, Attempts: d.Attempts}
}

// View returns the queue for operators.
func (q *Queue) View() contract.NotificationsView {
	view := contract.NotificationsView{Receivers: []contract.ReceiverView{}, Deliveries: []contract.DeliveryView{}}
	for _, l := range q.lanes {
		shown := contract.ReceiverView{ReceiverHealth: l.ReceiverHealth, Waiting: len(l.waiting)}
		if len(l.waiting) > 0 {
			shown.Next = l.next
		}
		view.Receivers = append(view.Receivers, shown)
		for i, d := range l.waiting {
			waiting := viewOf(d, contract.DeliveryWaiting)
			if i == 0 {
				waiting.Error = l.Error
			}
			view.Deliveries = append(view.Deliveries, waiting)
		}
	}
	slices.SortStableFunc(view.Deliveries, func(a, b contract.DeliveryView) int { return b.At.Compare(a.At) })
	for _, ended := range slices.Backward(q.recent) {
		view.Deliveries = append(view.Deliveries, ended)
	}
	return view
}
