// Package notify is the workflow of the notifier, one per namespace: the queue, the watcher that finds events, and at
// most one delivery per receiver at a time. See docs/adr/0061-notifications.md.
package notify

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/notify"
	"github.com/roundsman/roundsman/workflows/entity"
)

func limits() entity.Limits {
	l := entity.DefaultLimits()
	l.Events = 10_000
	return l
}

const watchPause = time.Minute

// Workflow is the one notifier of a namespace. No run waits for it. Each receiver has its own queue, so a dead
// receiver delays no other.
//
// After a termination the next notifier delivers the waiting notifications and reports the events in between. If the
// former history is gone, its view reports the loss. A cancellation has no effect.
func Workflow(ctx workflow.Context, in contract.NotificationsInput) error {
	r := &run{loop: entity.New(ctx, entity.Options{Name: contract.NotificationsWorkflowID, Audit: in.Audit, Continued: in.Continued, Passed: in.Inherited.Passed})}
	r.ctx = r.loop.Context()
	r.restore(in)
	if err := r.listen(); err != nil {
		return err
	}
	for {
		r.closing = r.closing || r.loop.Full(limits(), true)
		if r.closing && r.settled() {
			return r.continueAsNew()
		}
		r.watch()
		r.deliver()
		r.loop.Flush()
		if err := r.loop.Wait(r.wake(), r.woken); err != nil {
			return err
		}
		r.collect()
	}
}

type run struct {
	ctx   workflow.Context
	loop  *entity.Loop
	queue *notify.Queue
	// inherited is the origin of the queue, and the fault if it could not be read.
	inherited contract.Inherited
	watched   contract.WatchEventsInput
	watching  workflow.Future
	stop      workflow.CancelFunc
	retryAt   time.Time
	sent      []sent
	closing   bool
}

type sent struct {
	receiver string
	future   workflow.Future
}

func (r *run) restore(in contract.NotificationsInput) {
	r.inherited = in.Inherited
	r.inherited.Passed = nil
	if left := in.Inherited.Data; len(left) > 0 {
		if err := json.Unmarshal(left, &in); err != nil {
			r.inherited.Fault = "the queue of the previous notifier cannot be read: " + err.Error()
		}
	}
	r.inherited.Data = nil
	r.queue, r.watched = notify.Restore(in.Queue), in.Watch
}

// durable also answers after this run has ended.
func (r *run) durable() (contract.DurableResult, error) {
	data, err := json.Marshal(contract.NotificationsInput{Watch: r.watched, Queue: r.queue.State()})
	return contract.DurableResult{Data: data, Passed: r.loop.Passed()}, err
}

func (r *run) view() (contract.NotificationsView, error) {
	view := r.queue.View()
	if r.inherited.From != "" {
		view.Inherited = &r.inherited
	}
	return view, nil
}

func (r *run) listen() error {
	return errors.Join(
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryNotifications, r.view,
			workflow.QueryHandlerOptions{Description: "The receivers, and the notifications that wait and that ended last."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryDurable, r.durable,
			workflow.QueryHandlerOptions{Description: "State for the next notifier, also of an ended run."}),
		workflow.SetUpdateHandlerWithOptions(r.ctx, contract.UpdateTestNotification, r.test,
			workflow.UpdateHandlerOptions{Description: "Sends a test to a receiver."}))
}

func (r *run) test(ctx workflow.Context, in contract.TestNotificationInput) (contract.TestNotificationResult, error) {
	if !r.knows(in.Receiver) {
		return contract.TestNotificationResult{}, temporal.NewNonRetryableApplicationError("there is no receiver "+in.Receiver+": see `roundsman receivers` (a new control plane adds its receivers within seconds)", "NoReceiver", nil)
	}
	now := workflow.Now(ctx)
	notice := contract.Notice{To: []string{in.Receiver}, Notification: contract.Notification{
		Version: 1, ID: "test/" + in.Receiver + "/" + now.UTC().Format(time.RFC3339Nano), Event: contract.NotifyTest, At: now,
	}}
	if in.By != "" {
		notice.Detail = "requested by " + in.By
	}
	r.queue.Add(now, notice)
	r.loop.Touch()
	return contract.TestNotificationResult{ID: notice.ID}, nil
}

func (r *run) knows(name string) bool {
	return slices.ContainsFunc(r.watched.Receivers, func(known contract.ReceiverInfo) bool { return known.Name == name })
}

func (r *run) watch() {
	switch {
	case r.watching != nil && r.closing:
		r.stop()
	case r.watching == nil && !r.closing && !r.retryAt.After(r.loop.Now()):
		ctx, stop := workflow.WithCancel(r.ctx)
		r.watching, r.stop = callWatchEvents(ctx, r.watched), stop
	}
}

func (r *run) deliver() {
	if r.closing {
		return
	}
	for _, due := range r.queue.Next(r.loop.Now()) {
		r.sent = append(r.sent, sent{due.Receiver, callDeliver(r.ctx, due)})
	}
}

func (r *run) wake() time.Time {
	if r.closing {
		return time.Time{}
	}
	wake := r.queue.Wake()
	if r.watching == nil {
		wake = instant.Earlier(wake, r.retryAt)
	}
	return wake
}

func (r *run) woken() bool {
	if r.watching != nil && r.watching.IsReady() {
		return true
	}
	return slices.ContainsFunc(r.sent, func(s sent) bool { return s.future.IsReady() })
}

func (r *run) collect() {
	if r.watching != nil && r.watching.IsReady() {
		r.watchEnded()
	}
	open := r.sent[:0:0]
	for _, s := range r.sent {
		if !s.future.IsReady() {
			open = append(open, s)
			continue
		}
		var result contract.DeliverResult
		if err := s.future.Get(r.ctx, &result); err != nil {
			result = contract.DeliverResult{Error: "the attempt did not report: " + cause(err)}
		}
		r.queue.Done(r.loop.Now(), s.receiver, result)
	}
	r.sent = open
}

func (r *run) watchEnded() {
	var result contract.WatchEventsResult
	err := r.watching.Get(r.ctx, &result)
	r.watching, r.stop = nil, nil
	if temporal.IsCanceledError(err) {
		return
	}
	if err != nil {
		workflow.GetLogger(r.ctx).Error("Events are not watched.", "error", err)
		r.retryAt = r.loop.Now().Add(watchPause)
		return
	}
	r.watched = contract.WatchEventsInput{State: result.State, Receivers: result.Receivers}
	r.queue.SetReceivers(result.Receivers)
	r.queue.Add(r.loop.Now(), result.Notices...)
}

// cause returns the kind of failure without the server's text.
func cause(err error) string {
	if temporal.IsTimeoutError(err) {
		return "timeout"
	}
	return "failed"
}

func (r *run) settled() bool {
	return r.watching == nil && len(r.sent) == 0
}

func (r *run) continueAsNew() error {
	if err := r.loop.Finish(); err != nil {
		return err
	}
	in := contract.NotificationsInput{
		Continued: true, Watch: r.watched, Queue: r.queue.State(), Audit: r.loop.Audit.State(), Inherited: r.inherited,
	}
	in.Inherited.Passed = r.loop.Passed()
	return workflow.NewContinueAsNewError(r.ctx, contract.NotificationsWorkflow, in)
}
