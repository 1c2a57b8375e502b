package app

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSecondProcessIsRefusedWithThePidOfTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(t.Context(), dir, time.Second)
	require.NoError(t, err)

	_, err = lockDir(t.Context(), dir, 100*time.Millisecond)
	require.ErrorContains(t, err, fmt.Sprintf("by process %d", os.Getpid()))
	require.ErrorContains(t, err, "--data-dir")
	require.ErrorIs(t, err, errInUse)

	require.NoError(t, first.release())
	second, err := lockDir(t.Context(), dir, time.Second)
	require.NoError(t, err)
	require.NoError(t, second.release())
}

func TestLockWaitsForThePresentHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(t.Context(), dir, time.Second)
	require.NoError(t, err)
	taken := make(chan error, 1)
	go func() {
		second, err := lockDir(t.Context(), dir, time.Minute)
		if err == nil {
			err = second.release()
		}
		taken <- err
	}()
	require.NoError(t, first.release())
	require.NoError(t, <-taken)
}

func TestLockGivesUpWhenInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(t.Context(), dir, time.Second)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.release()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lockDir(ctx, dir, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
}
