package starter

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

// Person is the person for whom a serving process acts.
type Person struct {
	// See contract.AuditEntry.
	Actor, From, Via, Auth string
}

// Identity returns the person's identity in Temporal's history.
func (p Person) Identity() string {
	return auditlog.Identity(auditlog.Through(p.Via, p.Auth), p.Actor, p.From)
}

// For returns a client that acts as the person, on the same connection. Close ends that client only. It calls warn
// when an action could not be recorded.
func (c *Client) For(ctx context.Context, person Person, warn func(error)) (*Client, error) {
	shared, err := client.NewClientFromExistingWithContext(ctx, c.temporal, client.Options{
		Namespace: c.namespace, Identity: person.Identity(), DataConverter: DataConverter(), Logger: log.NewStructuredLogger(c.logger),
		WorkerHeartbeatInterval: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", person.Actor, err)
	}
	other := *c
	other.temporal, other.identity = shared, person.Identity()
	other.operator = operator{actor: person.Actor, from: person.From, via: person.Via, auth: person.Auth, warn: warn}
	return &other, nil
}
