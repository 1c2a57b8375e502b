package app

import (
	"context"
	"errors"

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
	var stopping errgroup.Group
	for i, member := range g {
		stopping.Go(func() error {
			faults[i] = member.Stop(ctx)
			return nil
		})
	}
	_ = stopping.Wait() // The errors are in faults.
	return errors.Join(faults...)
}
