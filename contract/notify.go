package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// NotificationsWorkflow is the workflow type of the notifier, NotificationsWorkflowID
// the id of the one of a namespace.
const (
	NotificationsWorkflow   = "roundsman.Notifications"
	NotificationsWorkflowID = "notifications"
)

// Activities of the notifier; both run in the control plane, which alone knows the
// receivers.
const (
	// WatchEventsActivity takes a WatchEventsInput and returns a WatchEventsResult.
	WatchEventsActivity = "roundsman.WatchEvents"
	// DeliverActivity takes a Delivery and returns a DeliverResult.
	DeliverActivity = "roundsman.Deliver"
)

// Messages of the notifier.
const (
	// QueryNotifications returns a NotificationsView.
	QueryNotifications = "list"
	// UpdateTestNotification takes a TestNotificationInput and returns the id of the
	// notification.
	UpdateTestNotification = "test"
)

// NotifyEvent is an event that receivers can be told of.
type NotifyEvent string

// The events.
const (
	// NotifyFailed: a run ended failed or timeout, or was terminated.
	NotifyFailed NotifyEvent = "failed"
	// NotifyPartial: a run ended partial.
	NotifyPartial NotifyEvent = "partial"
	// NotifyRecovered: the first run that completed after one that failed or was
	// partial, or after NotifyNotSucceeded.
	NotifyRecovered NotifyEvent = "recovered"
	// NotifyApproval: a task of a DAG waits for an approval.
	NotifyApproval NotifyEvent = "approval"
	// NotifyWorkerLost: a worker is OFFLINE that did not deregister.
	NotifyWorkerLost NotifyEvent = "worker_lost"
	// NotifyNotSucceeded: no run has completed for the time of the rule. It is not
	// written in `on`; not_succeeded_for asks for it.
	NotifyNotSucceeded NotifyEvent = "not_succeeded"
	// NotifyTest: an operator tests a receiver.
	NotifyTest NotifyEvent = "test"
)

// NotifyEvents are those that a rule may name.
func NotifyEvents() []NotifyEvent {
	return []NotifyEvent{NotifyFailed, NotifyPartial, NotifyRecovered, NotifyApproval, NotifyWorkerLost}
}

// Bounds of the rules.
const (
	MaxNotifyRules      = 20
	MaxNotifyReceivers  = 50
	MinNotSucceededFor  = jobtype.Duration(time.Minute)
	MaxNotSucceededFor  = jobtype.Duration(366 * 24 * time.Hour)
	MaxNotificationText = 1000
)

// NotifyRule says who is told of what.
type NotifyRule struct {
	On []NotifyEvent `json:"on,omitempty"`
	// NotSucceededFor: tell when no run has completed for so long; 0: do not.
	NotSucceededFor jobtype.Duration `json:"not_succeeded_for,omitempty"`
	// To names receivers of the control plane.
	To []string `json:"to"`
}

// Validate reports everything that is wrong with the rule.
func (r NotifyRule) Validate() error {
	var faults []error
	known := NotifyEvents()
	for _, event := range r.On {
		if !slices.Contains(known, event) {
			names := make([]string, len(known))
			for i, name := range known {
				names[i] = string(name)
			}
			faults = append(faults, fmt.Errorf("on: there is no event %q: use %s, or not_succeeded_for: DURATION", event, strings.Join(names, ", ")))
		}
	}
	if len(r.On) == 0 && r.NotSucceededFor == 0 {
		faults = append(faults, errors.New("says neither on nor not_succeeded_for: write `on: [failed]`"))
	}
	if d := r.NotSucceededFor; d != 0 && (d < MinNotSucceededFor || d > MaxNotSucceededFor) {
		faults = append(faults, fmt.Errorf("not_succeeded_for: %s is out of range: use %s to %s", d, MinNotSucceededFor, MaxNotSucceededFor))
	}
	if len(r.To) == 0 {
		faults = append(faults, errors.New("to: names no receiver"))
	}
	for _, name := range r.To {
		if err := jobtype.ValidateName(name); err != nil {
			faults = append(faults, fmt.Errorf("to: %w", err))
		}
	}
	return errors.Join(faults...)
}

// Notification is one event as receivers are told of it: the documented body of a
// webhook. Fields are only added.
type Notification struct {
	// Version of this format: 1.
	Version int `json:"version"`
	// ID is the same in every delivery of the notification, to every receiver and on
	// every repeat.
	ID    string      `json:"id"`
	Event NotifyEvent `json:"event"`
	// At is when it happened.
	At time.Time `json:"at"`
	// Title is one line for people, Command shows them more.
	Title   string `json:"title"`
	Command string `json:"command,omitempty"`
	// Namespace is Temporal's.
	Namespace string `json:"namespace,omitempty"`
	// JobType or DAG, Run, Task and Worker are those that apply.
	JobType string `json:"job_type,omitempty"`
	DAG     string `json:"dag,omitempty"`
	Run     string `json:"run,omitempty"`
	RunID   string `json:"run_id,omitempty"`
	Task    string `json:"task,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// Outcome, StartedAt, EndedAt and Counts are those of the run.
	Outcome   Outcome        `json:"outcome,omitempty"`
	StartedAt time.Time      `json:"started_at,omitzero"`
	EndedAt   time.Time      `json:"ended_at,omitzero"`
	Counts    map[string]int `json:"counts,omitempty"`
	// Detail is the first error, the prompt of an approval, or the reason.
	Detail string `json:"detail,omitempty"`
	// Since is when the state began: the first failure that a recovery ends, the last
	// success, the last sign of a worker, the begin of the wait.
	Since time.Time `json:"since,omitzero"`
}

// Notice is a notification with its receivers.
type Notice struct {
	Notification

	To []string `json:"to"`
}

// ReceiverInfo is a receiver as a control plane knows it, without its secrets.
type ReceiverInfo struct {
	Name string `json:"name"`
	// Kind is webhook, smtp or command.
	Kind string `json:"kind"`
}

// WatchEventsInput tells the watcher where the one before it stopped.
type WatchEventsInput struct {
	// State is the watcher's own; empty: it begins now.
	State json.RawMessage `json:"state,omitempty"`
	// Receivers are those that the notifier knows.
	Receivers []ReceiverInfo `json:"receivers,omitempty"`
}

// WatchEventsResult is returned when there is something to tell.
type WatchEventsResult struct {
	State     json.RawMessage `json:"state,omitempty"`
	Notices   []Notice        `json:"notices,omitempty"`
	Receivers []ReceiverInfo  `json:"receivers,omitempty"`
}

// Delivery is one notification on its way to one receiver.
type Delivery struct {
	Notification

	Receiver string `json:"receiver"`
	// Queued is when the notifier took it.
	Queued time.Time `json:"queued_at"`
	// Attempts counts those before this one.
	Attempts int `json:"attempts,omitempty"`
}

// DeliverResult is how one attempt ended. An attempt that could not report counts as
// failed and is repeated.
type DeliverResult struct {
	// Error is empty if the receiver took the notification.
	Error string `json:"error,omitempty"`
	// Permanent: a repeat cannot help.
	Permanent bool `json:"permanent,omitempty"`
}

// NotificationsInput starts the notifier.
type NotificationsInput struct {
	// Continued, Watch, Queue and Audit are set when it continues as new.
	Continued bool              `json:"continued,omitempty"`
	Watch     WatchEventsInput  `json:"watch,omitzero"`
	Queue     *NotifyQueueState `json:"queue,omitempty"`
	Audit     *AuditTrailState  `json:"audit,omitempty"`
	// Inherited is what a notifier that was ended left to the one that is started after
	// it; without Data it says what became of that.
	Inherited Inherited `json:"inherited,omitzero"`
}

// NotifyQueueState is what the notifier has still to deliver, and what it delivered.
type NotifyQueueState struct {
	Receivers []NotifyReceiverState `json:"receivers,omitempty"`
	Recent    []DeliveryView        `json:"recent,omitempty"`
	// Known are the ids taken last, oldest first.
	Known []string `json:"known,omitempty"`
}

// NotifyReceiverState is the queue of one receiver.
type NotifyReceiverState struct {
	ReceiverHealth

	Waiting []Delivery `json:"waiting,omitempty"`
	Next    time.Time  `json:"next,omitzero"`
}

// ReceiverHealth is how deliveries to a receiver go.
type ReceiverHealth struct {
	Name string `json:"name"`
	// Kind is empty for a name that no control plane knows.
	Kind string `json:"kind,omitempty"`
	// Sent, Failed and Dropped count since the notifier was started: delivered,
	// given up, and displaced by newer ones.
	Sent     int       `json:"sent"`
	Failed   int       `json:"failed"`
	Dropped  int       `json:"dropped"`
	LastSent time.Time `json:"last_sent_at,omitzero"`
	// FailingSince is when the unbroken series of failed attempts began; zero: the
	// last one succeeded. Failures counts them, Error is the last one's.
	FailingSince time.Time `json:"failing_since,omitzero"`
	Failures     int       `json:"failures,omitempty"`
	Error        string    `json:"error,omitempty"`
}

// Delivery states.
const (
	DeliveryWaiting = "waiting"
	DeliverySent    = "sent"
	DeliveryFailed  = "failed"
	DeliveryDropped = "dropped"
)

// DeliveryView is one delivery as operators see it.
type DeliveryView struct {
	ID       string      `json:"id"`
	Event    NotifyEvent `json:"event"`
	Title    string      `json:"title"`
	Receiver string      `json:"receiver"`
	State    string      `json:"state"`
	At       time.Time   `json:"at"`
	// Ended is when it was delivered or given up.
	Ended    time.Time `json:"ended_at,omitzero"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error,omitempty"`
}

// ReceiverView is a receiver as operators see it.
type ReceiverView struct {
	ReceiverHealth

	Waiting int       `json:"waiting"`
	Next    time.Time `json:"next_attempt_at,omitzero"`
}

// NotificationsView answers [QueryNotifications]: the receivers by name, and the
// deliveries that wait and that ended last, newest first.
type NotificationsView struct {
	Receivers  []ReceiverView `json:"receivers"`
	Deliveries []DeliveryView `json:"deliveries"`
	// Inherited says what became of the queue of the notifier before this one, if that
	// was ended.
	Inherited *Inherited `json:"inherited,omitempty"`
}

// TestNotificationInput names the receiver to test.
type TestNotificationInput struct {
	Receiver string `json:"receiver"`
	By       string `json:"by,omitempty"`
}

// TestNotificationResult names the notification that was queued.
type TestNotificationResult struct {
	ID string `json:"id"`
}
