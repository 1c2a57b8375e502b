package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/jobtype"
)

// beat detects the loss of the control plane within a few seconds.
const beat = 3 * time.Second

// permanentError marks a failure that a repeat cannot fix.
type permanentError struct{ error }

func permanent(format string, args ...any) error {
	return permanentError{fmt.Errorf(format, args...)}
}

// Deliver is [contract.DeliverActivity]: one attempt for one receiver. A repeat delivers again, under the same id.
func (a *Activities) Deliver(ctx context.Context, in contract.Delivery) (contract.DeliverResult, error) {
	to, known := a.options.Receivers[in.Receiver]
	if !known {
		return contract.DeliverResult{Error: string(contract.CodeNoReceiver) + ": the configuration of this control plane has no notify.receivers." + in.Receiver}, nil
	}
	if in.Title == "" {
		title(&in.Notification)
	}
	in.Namespace = cmp.Or(in.Namespace, a.options.Namespace)
	limited, cancel := context.WithTimeout(ctx, to.Timeout())
	defer cancel()
	stop := every(beat, func() { activity.RecordHeartbeat(ctx) })
	err := a.send(limited, to, in.Notification)
	stop()
	a.options.Delivered(in.Receiver, err)
	if err == nil {
		return contract.DeliverResult{}, nil
	}
	_, isPermanent := errors.AsType[permanentError](err)
	result := contract.DeliverResult{Error: jobtype.OneLine(hideSecrets(to, err.Error()), jobtype.MaxSummaryBytes), Permanent: isPermanent}
	a.options.Log.Warn("A notification was not delivered.", "receiver", in.Receiver, "notification", in.ID, "attempt", in.Attempts+1, "permanent", isPermanent, "error", result.Error)
	return result, nil
}

func every(pause time.Duration, do func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				do()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (a *Activities) send(ctx context.Context, to receiver.Receiver, n contract.Notification) error {
	body, err := bodyOf(to, n)
	if err != nil {
		return err
	}
	switch to.Kind() {
	case receiver.KindWebhook:
		return post(ctx, *to.Webhook, n, body)
	case receiver.KindSMTP:
		return mailTo(ctx, *to.SMTP, n, body)
	case receiver.KindCommand:
		return a.run(ctx, *to.Command, n, body)
	}
	return permanent("the receiver has no kind")
}

const slackTemplate = `{"text":{{json (printf "%s\n%s` + "`%s`" + `" .Title .Detail .Command)}}}`

func bodyOf(to receiver.Receiver, n contract.Notification) ([]byte, error) {
	source := to.Template
	if source == "" && to.Kind() == receiver.KindWebhook && to.Webhook.Format == receiver.FormatSlack {
		source = slackTemplate
		if n.Detail != "" {
			n.Detail += "\n"
		}
	}
	switch {
	case source == "" && to.Kind() == receiver.KindSMTP:
		return []byte(text(n)), nil
	case source == "":
		return json.Marshal(n)
	}
	parsed, err := gotemplate.New("template", source, receiver.Fields())
	if err != nil {
		return nil, permanentError{err}
	}
	body, err := parsed.Execute(fieldsOf(n))
	if err != nil {
		return nil, permanentError{fmt.Errorf("template: %w", err)}
	}
	if to.Kind() == receiver.KindWebhook && !json.Valid([]byte(body)) {
		return nil, permanent("the template makes no valid JSON: use {{json .Title}} for texts")
	}
	return []byte(body), nil
}

func fieldsOf(n contract.Notification) map[string]any {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return map[string]any{
		"ID": n.ID, "Event": string(n.Event), "At": at(n.At), "Title": n.Title, "Command": n.Command, "Namespace": n.Namespace,
		"JobType": n.JobType, "DAG": n.DAG, "Run": n.Run, "RunID": n.RunID, "Task": n.Task, "Worker": n.Worker,
		"Outcome": string(n.Outcome), "StartedAt": at(n.StartedAt), "EndedAt": at(n.EndedAt), "Counts": n.Counts, "Detail": n.Detail, "Since": at(n.Since),
	}
}

// hideSecrets removes the receiver's secrets from an error: it goes into a history.
func hideSecrets(to receiver.Receiver, text string) string {
	for _, secret := range to.Secrets() {
		if value, err := secret.Read(); err == nil && value != "" {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	return text
}
