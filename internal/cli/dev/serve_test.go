package dev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/app"
)

// ended is a process that ends by itself.
type ended struct {
	reason  error
	stopped bool
}

func (e *ended) Failed() <-chan error {
	failed := make(chan error, 1)
	failed <- e.reason
	return failed
}

func (e *ended) Stop(context.Context) error {
	e.stopped = true
	return nil
}

func TestAnIdleWorkerEndsWell(t *testing.T) {
	t.Parallel()
	idle := &ended{reason: fmt.Errorf("worker node-a: %w", app.ErrIdle)}
	require.NoError(t, serve(t.Context(), slog.New(slog.DiscardHandler), idle))
	assert.True(t, idle.stopped)
	broken := &ended{reason: errors.New("fenced")}
	require.ErrorIs(t, serve(t.Context(), slog.New(slog.DiscardHandler), broken), broken.reason)
}
