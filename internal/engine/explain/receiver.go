package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// ReceiverFacts is the notifier's report of a receiver of notifications.
type ReceiverFacts struct {
	contract.ReceiverView

	// Deliveries are the waiting ones, the oldest first.
	Deliveries []contract.DeliveryView
	// Named are the job types whose rules name the receiver.
	Named []string
}

// ofReceiver explains why a receiver gets no notifications: no control plane has it configured,
// or its deliveries fail.
func (f Facts) ofReceiver() []Reason {
	r := *f.Receiver
	switch {
	case f.Down != "" || f.mute(contract.NotificationsWorkflowID) != "":
		return nil
	case r.Kind == "":
		detail := "no control plane has a receiver of this name"
		if len(r.Named) > 0 {
			detail += "; job types that name it: " + strings.Join(r.Named, ", ")
		}
		return []Reason{reason(contract.CodeNoReceiver, r.Name, r.oldest(), time.Time{}, detail+"; "+r.waits())}
	case !r.FailingSince.IsZero():
		until := r.Next
		if !until.After(f.Now) {
			until = time.Time{} // It is being tried.
		}
		return []Reason{reason(contract.CodeReceiverFailing, r.Name, r.FailingSince, until,
			fmt.Sprintf("%s; %s failed, the last one: %s", r.waits(), counted(r.Failures, "attempt"), r.Error))}
	}
	return nil
}

func (f Facts) stateOfReceiver() string {
	r := *f.Receiver
	switch mute := f.mute(contract.NotificationsWorkflowID); {
	case mute != "":
		return mute
	case f.Down != "" || r.Kind == "":
		return "unknown"
	case !r.FailingSince.IsZero():
		return "failing"
	case r.Waiting > 0:
		return "delivering"
	}
	return "idle"
}

func (r ReceiverFacts) oldest() time.Time {
	if len(r.Deliveries) == 0 {
		return time.Time{}
	}
	return r.Deliveries[0].At
}

func (r ReceiverFacts) waits() string {
	text := counted(r.Waiting, "notification") + " waiting"
	if at := r.oldest(); !at.IsZero() {
		text += ", the oldest since " + stamp(at)
	}
	return text
}

// Delivery sets the error of a dropped notification.
func Delivery(d *contract.DeliveryView) {
	if d.State == contract.DeliveryDropped && d.Error == "" {
		d.Error = "the queue of the receiver was full"
	}
}
