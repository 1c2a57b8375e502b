package explainer

import (
	"context"
	"errors"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Receiver is a receiver of notifications with its waiting deliveries.
type Receiver struct {
	contract.ReceiverView

	// Waiting deliveries, oldest first.
	Deliveries []contract.DeliveryView `json:"deliveries"`
}

func (e *explainer) ofReceiver(ctx context.Context, name string, facts *explain.Facts) (bool, error) {
	var view contract.NotificationsView
	var err error
	if facts.Down == "" { // One missing answer has been waited for.
		view, err = e.client.Notifications().View(ctx)
	}
	if err != nil && !errors.Is(err, starter.ErrNotFound) && !noteDown(facts, err) {
		return false, err
	}
	types, err := jobtypes.Of(e.client).List(ctx)
	if err != nil {
		return false, err
	}
	found := receiverIn(view, name)
	for _, r := range view.Receivers {
		e.receivers = append(e.receivers, r.Name)
	}
	for _, t := range types {
		if slices.ContainsFunc(t.Spec.Notify, func(rule contract.NotifyRule) bool { return slices.Contains(rule.To, name) }) {
			found.Named = append(found.Named, t.Name)
		}
	}
	if !slices.Contains(e.receivers, name) && len(found.Named) == 0 {
		return false, nil
	}
	facts.Receiver = &found
	e.receiver = &Receiver{ReceiverView: found.ReceiverView, Deliveries: found.Deliveries}
	return true, nil
}

// The view has the newest notification first.
func receiverIn(view contract.NotificationsView, name string) explain.ReceiverFacts {
	found := explain.ReceiverFacts{Deliveries: []contract.DeliveryView{}}
	found.Name = name
	for _, r := range view.Receivers {
		if r.Name == name {
			found.ReceiverView = r
		}
	}
	for _, d := range slices.Backward(view.Deliveries) {
		if d.Receiver == name && d.State == contract.DeliveryWaiting {
			found.Deliveries = append(found.Deliveries, d)
		}
	}
	return found
}
