package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

const (
	// A Schedule lasts as long as the namespace, and a paused one starts nothing.
	secretSchedule = "roundsman/gateway-secret"
	secretMemo     = "secret"
	secretNote     = "Key of the gateways for remote workers. Without it all of them register again."
)

// SharedSecret returns the secret of all gateways of the namespace, and creates it on first use. A client that can
// read it in Temporal can complete activities anyway. To change it, delete its Schedule and restart the gateways.
func SharedSecret(ctx context.Context, c client.Client) ([]byte, error) {
	handle := c.ScheduleClient().GetHandle(ctx, secretSchedule)
	secret, err := readSecret(ctx, handle)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); !missing {
		return secret, err
	}
	fresh := make([]byte, MinSecret)
	if _, err := rand.Read(fresh); err != nil {
		return nil, fmt.Errorf("make the gateways' secret: %w", err)
	}
	_, err = c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: secretSchedule, Paused: true, Note: secretNote, Memo: map[string]any{secretMemo: fresh},
		// A Schedule needs an action. This one never runs it.
		Action: &client.ScheduleWorkflowAction{ID: secretSchedule, Workflow: secretSchedule, TaskQueue: secretSchedule},
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil, fmt.Errorf("keep the gateways' secret: %w", err)
	}
	return readSecret(ctx, handle)
}

func readSecret(ctx context.Context, handle client.ScheduleHandle) ([]byte, error) {
	described, err := handle.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the gateways' secret: %w", err)
	}
	var secret []byte
	kept := described.Memo.GetFields()[secretMemo]
	if err := converter.GetDefaultDataConverter().FromPayload(kept, &secret); err != nil || len(secret) < MinSecret {
		return nil, fmt.Errorf("schedule %s keeps no secret of at least %d bytes: delete it, and restart the gateways", secretSchedule, MinSecret)
	}
	return secret, nil
}
