package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
)

// journal records the events of the parts in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

type fakePart struct {
	name     string
	log      *journal
	startErr error
	stopErr  error
	broken   chan error
}

func (f *fakePart) Start(context.Context) error {
	f.log.add("start " + f.name)
	return f.startErr
}

func (f *fakePart) Wait(ctx context.Context) error {
	select {
	case err := <-f.broken:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (f *fakePart) Stop(context.Context) error {
	f.log.add("stop " + f.name)
	return f.stopErr
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestPartsStopInReverse(t *testing.T) {
	t.Parallel()
	log := &journal{}
	plane, nodes := &fakePart{name: "plane", log: log}, &fakePart{name: "nodes", log: log, stopErr: errors.New("a job did not end")}
	process, err := start(t.Context(), time.Minute, quiet(), fx.Supply(parts{{"control plane", plane}, {"workers", nodes}}))
	require.NoError(t, err)
	err = process.Stop(t.Context())
	require.ErrorContains(t, err, "stop workers: a job did not end")
	assert.Equal(t, []string{"start plane", "start nodes", "stop nodes", "stop plane"}, log.all())
}

func TestAPartThatCannotStartUndoesTheOthers(t *testing.T) {
	t.Parallel()
	log := &journal{}
	refused := errors.New("another worker holds the id")
	_, err := start(t.Context(), time.Minute, quiet(), fx.Supply(parts{
		{"control plane", &fakePart{name: "plane", log: log}},
		{"workers", &fakePart{name: "nodes", log: log, startErr: refused}},
	}))
	require.ErrorIs(t, err, refused)
	assert.Equal(t, []string{"start plane", "start nodes", "stop plane"}, log.all())
}

func TestAPartThatEndsByItselfIsReported(t *testing.T) {
	t.Parallel()
	node := &fakePart{name: "nodes", log: &journal{}, broken: make(chan error, 1)}
	process, err := start(t.Context(), time.Minute, quiet(), fx.Supply(parts{{"worker node-a", node}}))
	require.NoError(t, err)
	node.broken <- errors.New("taken over")
	require.EqualError(t, <-process.Failed(), "worker node-a: taken over")
	require.NoError(t, process.Stop(t.Context()))
}

func TestConstructorErrorsAreShownPlainly(t *testing.T) {
	t.Parallel()
	_, err := start(t.Context(), time.Minute, quiet(), fx.Provide(func() (parts, error) { return nil, errors.New("no handlers") }))
	require.EqualError(t, err, "no handlers")
}

func TestGroupStartsAndStopsTogether(t *testing.T) {
	t.Parallel()
	log := &journal{}
	fine, broken := &fakePart{name: "a", log: log}, &fakePart{name: "b", log: log, startErr: errors.New("refused"), stopErr: errors.New("late")}
	both := group{fine, broken}
	require.EqualError(t, both.Start(t.Context()), "refused")
	require.EqualError(t, both.Stop(t.Context()), "late")
	assert.ElementsMatch(t, []string{"start a", "start b", "stop a", "stop b"}, log.all())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, both.Wait(ctx))
}
