package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// testLook is the interval between two reads of a test delivery, testWithin the limit.
const (
	testLook   = 100 * time.Millisecond
	testWithin = time.Minute
)

func (c *commands) receiversCommand() *cli.Command {
	return &cli.Command{
		Name: "receivers", Usage: "list receivers of notifications, or test one",
		Description: `Receivers are those of the control plane's configuration. A notification is tried again with growing pauses for three days.

Examples:
  roundsman receivers
  roundsman receivers --test ops
  roundsman receivers --output json | jq '.receivers[] | select(.failing_since)'`,
		Flags: ui.ListFlags(&cli.StringFlag{Name: flagTest, Usage: "send a test to receiver `NAME`"}),
		Before: func(ctx *cli.Context) error {
			if err := jobtype.ValidateName(ctx.String(flagTest)); err != nil && ctx.String(flagTest) != "" {
				return ui.Faulty(err)
			}
			return nil
		},
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			if name := ctx.String(flagTest); name != "" {
				return c.testReceiver(ctx, client, name)
			}
			view, err := client.Notifications().View(ctx.Context)
			if errors.Is(err, starter.ErrNotFound) {
				view, err = contract.NotificationsView{Receivers: []contract.ReceiverView{}, Deliveries: []contract.DeliveryView{}}, nil
			}
			if err != nil {
				return err
			}
			if ui.WantsData(ctx) {
				return c.Answer(ctx, view, ui.Names(view.Receivers, func(r contract.ReceiverView) string { return r.Name })...)
			}
			c.printNotifications(view)
			return nil
		}),
	}
}

const flagTest = "test"

func (c *commands) printNotifications(view contract.NotificationsView) {
	receivers := ui.NewTable("RECEIVER", "KIND", "SENT", "WAITING", "FAILED", "FAILING SINCE", "ERROR")
	for _, r := range view.Receivers {
		kind := ui.Textf("%s", r.Kind)
		if r.Kind == "" {
			kind = ui.Cell{Text: "unknown", Paint: ui.Bad}
		}
		receivers.Add(ui.Textf("%s", r.Name), kind, ui.Textf("%d", r.Sent), ui.Textf("%d", r.Waiting), count(r.Failed+r.Dropped),
			ui.Textf("%s", moment(r.FailingSince)), ui.Cause(r.Error))
	}
	c.PrintTable(receivers, "no control plane has receivers: see notify.receivers in docs/notifications.md")
	if len(view.Deliveries) == 0 {
		return
	}
	fmt.Fprintln(c.Env.Stdout)
	sent := ui.NewTable("AT", "EVENT", "RECEIVER", "STATE", "TRIES", "TITLE", "ERROR")
	paints := map[string]ui.Paint{contract.DeliverySent: ui.Good, contract.DeliveryWaiting: ui.Odd, contract.DeliveryFailed: ui.Bad, contract.DeliveryDropped: ui.Bad}
	for _, d := range view.Deliveries {
		sent.Add(ui.Textf("%s", moment(d.At)), ui.Textf("%s", d.Event), ui.Textf("%s", d.Receiver), ui.Cell{Text: d.State, Paint: paints[d.State]},
			ui.Textf("%d", d.Attempts), ui.Textf("%s", d.Title), ui.Cause(d.Error))
	}
	c.PrintTable(sent, "")
}

func count(n int) ui.Cell {
	if n == 0 {
		return ui.Text("0")
	}
	return ui.Cell{Text: strconv.Itoa(n), Paint: ui.Bad}
}

func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// testReceiver sends a test, which goes before waiting notifications and is tried once, and waits for its answer.
func (c *commands) testReceiver(ctx *cli.Context, client *starter.Client, name string) error {
	id, err := client.Notifications().Test(ctx.Context, name)
	if errors.Is(err, starter.ErrNotFound) {
		return fmt.Errorf("no control plane has receivers: add notify.receivers.%s to its configuration and start it with --config; after a start, try again in some seconds", name)
	}
	if err != nil {
		return err
	}
	ended, err := deliveryOf(ctx.Context, client, id)
	if err != nil {
		return err
	}
	if ended.State != contract.DeliverySent {
		return fmt.Errorf("receiver %s refused the test: %s; check its settings in notify.receivers.%s", name, strings.TrimSpace(ended.Error), name)
	}
	return c.Done(ctx, ended, "receiver %s accepted the test", name)
}

func deliveryOf(ctx context.Context, client *starter.Client, id string) (contract.DeliveryView, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, testWithin, fmt.Errorf("the test has no answer after %s: see `roundsman receivers`", testWithin))
	defer cancel()
	for {
		view, err := client.Notifications().View(ctx)
		if err != nil {
			return contract.DeliveryView{}, err
		}
		for _, d := range view.Deliveries {
			if d.ID == id && d.State != contract.DeliveryWaiting {
				return d, nil
			}
		}
		select {
		case <-ctx.Done():
			return contract.DeliveryView{}, context.Cause(ctx)
		case <-time.After(testLook):
		}
	}
}
