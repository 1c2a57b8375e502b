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

// NotificationsWorkflow is the workflow type, NotificationsWorkflowID the id of its one workflow in a namespace.
const (
	NotificationsWorkflow   = "roundsman.Notifications"
	NotificationsWorkflowID = "notifications"
)

// Activities of the notifier. Both run in the control plane, which alone has the receivers' settings.
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
	// UpdateTestNotification takes a TestNotificationInput and returns the id of the notification.
	UpdateTestNotification = "test"
)

// NotifyEvent is the kind of event in a notification.
type NotifyEvent string

// The events.
const (
	// NotifyFailed: a run ended as failed or timeout, or was terminated.
	NotifyFailed NotifyEvent = "failed"
	// NotifyPartial: a run ended as partial.
	NotifyPartial NotifyEvent = "partial"
	// NotifyWarning: a run completed, and some of its items with a warning.
	NotifyWarning NotifyEvent = "warning"
	// NotifyRecovered: the first completed run after a failed or partial one, or after NotifyNotSucceeded.
	NotifyRecovered NotifyEvent = "recovered"
	// NotifyApproval: a task of a DAG waits for an approval.
	NotifyApproval NotifyEvent = "approval"
	// NotifyWorkerLost: a worker is OFFLINE without having deregistered.
	NotifyWorkerLost NotifyEvent = "worker_lost"
	// NotifyWorkerSuspect: programs do not start on a worker.
	NotifyWorkerSuspect NotifyEvent = "worker_suspect"
	// NotifyNotSucceeded: no run completed within not_succeeded_for. Rules do not list it in `on`.
	NotifyNotSucceeded NotifyEvent = "not_succeeded"
	// NotifyTest: an operator tests a receiver.
	NotifyTest NotifyEvent = "test"
)

// NotifyEvents lists the events that a rule may name.
func NotifyEvents() []NotifyEvent {
	return []NotifyEvent{NotifyFailed, NotifyPartial, NotifyWarning, NotifyRecovered, NotifyApproval, NotifyWorkerLost, NotifyWorkerSuspect}
}

// Bounds of the rules.
const (
	MaxNotifyRules      = 20
	MaxNotifyReceivers  = 50
	MinNotSucceededFor  = jobtype.Duration(time.Minute)
	MaxNotSucceededFor  = jobtype.Duration(366 * 24 * time.Hour)
	MaxNotificationText = 1000
)

// NotifyRule selects events and their receivers.
type NotifyRule struct {
	On []NotifyEvent `json:"on,omitempty"`
	// NotSucceededFor sends a notification if no run completed for this long; 0: off.
	NotSucceededFor jobtype.Duration `json:"not_succeeded_for,omitempty"`
	// To lists receivers of the control plane.
	To []string `json:"to"`
}

// Validate returns every fault of the rule.
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
		faults = append(faults, errors.New("sets neither on nor not_succeeded_for: write `on: [failed]`"))
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

// Notification is one event: the documented body of a webhook. Fields are only added.
type Notification struct {
	// Version of this format: 1.
	Version int `json:"version"`
	// ID is the same for every receiver and every repeated delivery.
	ID    string      `json:"id"`
	Event NotifyEvent `json:"event"`
	At    time.Time   `json:"at"`
	// Title is one line for operators; Command shows the details.
	Title     string `json:"title"`
	Command   string `json:"command,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// JobType or DAG, Run, Task and Worker are set if they apply.
	JobType string `json:"job_type,omitempty"`
	DAG     string `json:"dag,omitempty"`
	Run     string `json:"run,omitempty"`
	RunID   string `json:"run_id,omitempty"`
	Task    string `json:"task,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// Outcome, StartedAt, EndedAt and Counts describe the run.
	Outcome   Outcome        `json:"outcome,omitempty"`
	StartedAt time.Time      `json:"started_at,omitzero"`
	EndedAt   time.Time      `json:"ended_at,omitzero"`
	Counts    map[string]int `json:"counts,omitempty"`
	// Detail is the first error, the prompt of an approval, or the reason.
	Detail string `json:"detail,omitempty"`
	// Start of the condition: a first failure, a last success, a last heartbeat, the start of a wait.
	Since time.Time `json:"since,omitzero"`
}

// Notice is a notification with its receivers.
type Notice struct {
	Notification

	To []string `json:"to"`
}

// ReceiverInfo is a receiver without its secrets.
type ReceiverInfo struct {
	Name string `json:"name"`
	// Kind is webhook, smtp or command.
	Kind string `json:"kind"`
}

// WatchEventsInput resumes the watcher where the previous call stopped.
type WatchEventsInput struct {
	// State is the watcher's own; empty starts it now.
	State json.RawMessage `json:"state,omitempty"`
	// Receivers lists the receivers known to the notifier.
	Receivers []ReceiverInfo `json:"receivers,omitempty"`
}

// WatchEventsResult returns new notices or changed receivers.
type WatchEventsResult struct {
	State     json.RawMessage `json:"state,omitempty"`
	Notices   []Notice        `json:"notices,omitempty"`
	Receivers []ReceiverInfo  `json:"receivers,omitempty"`
}

// Delivery is one notification for one receiver.
type Delivery struct {
	Notification

	Receiver string `json:"receiver"`
	// Queued is the time at which the notifier accepted it.
	Queued time.Time `json:"queued_at"`
	// Attempts counts the previous attempts.
	Attempts int `json:"attempts,omitempty"`
}

// DeliverResult is the result of one attempt. An attempt without one failed and is repeated.
type DeliverResult struct {
	// Error is empty after a successful delivery.
	Error string `json:"error,omitempty"`
	// Permanent means that a repeat cannot succeed.
	Permanent bool `json:"permanent,omitempty"`
}

// NotificationsInput starts the notifier.
type NotificationsInput struct {
	// Continued, Watch, Queue and Audit are set when it continues as new.
	Continued bool              `json:"continued,omitempty"`
	Watch     WatchEventsInput  `json:"watch,omitzero"`
	Queue     *NotifyQueueState `json:"queue,omitempty"`
	Audit     *AuditTrailState  `json:"audit,omitempty"`
	// Inherited is the queue of the previous, ended notifier. Without Data it holds the reason.
	Inherited Inherited `json:"inherited,omitzero"`
}

// NotifyQueueState holds pending and recent deliveries.
type NotifyQueueState struct {
	Receivers []NotifyReceiverState `json:"receivers,omitempty"`
	Recent    []DeliveryView        `json:"recent,omitempty"`
	// Known lists the last accepted ids, oldest first.
	Known []string `json:"known,omitempty"`
}

// NotifyReceiverState is the queue of one receiver.
type NotifyReceiverState struct {
	ReceiverHealth

	Waiting []Delivery `json:"waiting,omitempty"`
	Next    time.Time  `json:"next,omitzero"`
}

// ReceiverHealth is the delivery statistics of a receiver.
type ReceiverHealth struct {
	Name string `json:"name"`
	// Kind is empty for a name that no control plane declares.
	Kind string `json:"kind,omitempty"`
	// Deliveries since the start of the notifier: delivered, abandoned, and displaced by newer ones.
	Sent     int       `json:"sent"`
	Failed   int       `json:"failed"`
	Dropped  int       `json:"dropped"`
	LastSent time.Time `json:"last_sent_at,omitzero"`
	// Current series of failed attempts, if any: start, number, last message.
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

// DeliveryView is one delivery for operators.
type DeliveryView struct {
	ID       string      `json:"id"`
	Event    NotifyEvent `json:"event"`
	Title    string      `json:"title"`
	Receiver string      `json:"receiver"`
	State    string      `json:"state"`
	At       time.Time   `json:"at"`
	// Ended is the time of delivery or abandonment.
	Ended    time.Time `json:"ended_at,omitzero"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error,omitempty"`
}

// ReceiverView is a receiver for operators.
type ReceiverView struct {
	ReceiverHealth

	Waiting int       `json:"waiting"`
	Next    time.Time `json:"next_attempt_at,omitzero"`
}

// NotificationsView is the result of [QueryNotifications], with the newest deliveries first.
type NotificationsView struct {
	Receivers  []ReceiverView `json:"receivers"`
	Deliveries []DeliveryView `json:"deliveries"`
	// Inherited reports whether the queue of a previous, ended notifier was taken over.
	Inherited *Inherited `json:"inherited,omitempty"`
}

// TestNotificationInput names the receiver to test.
type TestNotificationInput struct {
	Receiver string `json:"receiver"`
	By       string `json:"by,omitempty"`
}

// TestNotificationResult holds the id of the queued notification.
type TestNotificationResult struct {
	ID string `json:"id"`
}
