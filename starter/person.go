package starter

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

// Person is somebody for whom a serving process acts.
type Person struct {
	// Actor and From are who and from which address, Via and Auth by which way and
	// how known; see contract.AuditEntry.
	Actor, From, Via, Auth string
}

// Identity is the person as Temporal's history names them.
func (p Person) Identity() string {
	return auditlog.Identity(auditlog.Through(p.Via, p.Auth), p.Actor, p.From)
}

// For gives a client that shares the connection and acts as the person, in Temporal's
// history as in the audit log. Close ends it and leaves the connection. warn is told
// if something that was done could not be recorded.
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
