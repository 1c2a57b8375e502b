package app

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/workers"
)

// A person would wait for workers that drain one after the other.
type group []component

func together(name string, nodes []*workers.Node) part {
	members := make(group, len(nodes))
	for i, node := range nodes {
		members[i] = node
	}
	return part{name, members}
}

// Start implements component. If a member fails, the others' start is canceled.
func (g group) Start(ctx context.Context) error {
	starting, ctx := errgroup.WithContext(ctx)
	for _, member := range g {
		starting.Go(func() error { return member.Start(ctx) })
	}
	return starting.Wait()
}

// Wait implements component. It returns the first error of a member.
func (g group) Wait(ctx context.Context) error {
	waiting, ctx := errgroup.WithContext(ctx)
	for _, member := range g {
		waiting.Go(func() error { return member.Wait(ctx) })
	}
	return waiting.Wait()
}

// Stop implements component.
func (g group) Stop(ctx context.Context) error {
	faults := make([]error, len(g))
	var stopping sync.WaitGroup
	for i, member := range g {
		stopping.Go(func() { faults[i] = member.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(faults...)
}
