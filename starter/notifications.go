package starter

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Notifications is the client for receivers and notifications.
type Notifications struct{ client *Client }

// Notifications returns the client for receivers and notifications.
func (c *Client) Notifications() Notifications { return Notifications{c} }

func notifierRef() RunRef { return RunRef{WorkflowID: contract.NotificationsWorkflowID} }

// View lists the receivers and the notifications. Without receivers the error is a [*NotFoundError].
func (n Notifications) View(ctx context.Context) (contract.NotificationsView, error) {
	view, err := query[contract.NotificationsView](ctx, n.client, notifierRef(), contract.QueryNotifications)
	for i := range view.Deliveries {
		explain.Delivery(&view.Deliveries[i])
	}
	return view, err
}

// Test queues a test notification and returns its id. [Notifications.View] shows its result.
func (n Notifications) Test(ctx context.Context, receiver string) (string, error) {
	result, err := update[contract.TestNotificationResult](ctx, n.client, notifierRef(), contract.UpdateTestNotification, contract.TestNotificationInput{Receiver: receiver, By: n.client.operator.actor})
	return result.ID, err
}
