package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/starter"
)

const serverPause = time.Second

// Dial connects a serving process. It tries until a server answers or ctx ends, and logs each new reason.
func Dial(ctx context.Context, options starter.Options, log *slog.Logger) (*starter.Client, error) {
	var client *starter.Client
	err := untilAnswered(ctx, options.Address, log, func() error {
		var err error
		client, err = starter.Dial(ctx, options)
		return err
	})
	return client, err
}

func untilAnswered(ctx context.Context, address string, log *slog.Logger, request func() error) error {
	last := ""
	for {
		err := request()
		why, waiting := unanswered(err)
		if !waiting || ctx.Err() != nil {
			return err
		}
		if why != last {
			log.Warn("waiting for the Temporal server", "address", address, "reason", why)
			last = why
		}
		select {
		case <-time.After(serverPause):
		case <-ctx.Done():
			return err
		}
	}
}

func unanswered(err error) (why string, is bool) {
	if gone, ok := errors.AsType[*starter.UnreachableError](err); ok {
		return gone.Why(), true
	}
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, busy := errors.AsType[*serviceerror.ResourceExhausted](err)
	if unavailable || late || busy || errors.Is(err, context.DeadlineExceeded) {
		return err.Error(), true
	}
	return "", false
}

const namespaceTimeout = 10 * time.Second

func awaitNamespace(ctx context.Context, client *starter.Client, log *slog.Logger) error {
	err := untilAnswered(ctx, client.Connection().Address, log, func() error {
		limited, cancel := context.WithTimeout(ctx, namespaceTimeout)
		defer cancel()
		_, err := client.Temporal().WorkflowService().DescribeNamespace(limited, &workflowservice.DescribeNamespaceRequest{Namespace: client.Namespace()})
		return err
	})
	if _, waiting := unanswered(err); waiting {
		return err
	}
	return nil
}
