package app

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/workers"
)

// group is several components that start and stop at the same time: workers
// that drain one after the other would keep a person waiting.
type group []component

// together makes one part of several nodes.
func together(name string, nodes []*workers.Node) part {
	members := make(group, len(nodes))
	for i, node := range nodes {
		members[i] = node
	}
	return part{name, members}
}

// Start implements component. When one member fails, the others' start is
// abandoned; Stop then ends those that did start.
func (g group) Start(ctx context.Context) error {
	starting, ctx := errgroup.WithContext(ctx)
	for _, member := range g {
		starting.Go(func() error { return member.Start(ctx) })
	}
	return starting.Wait()
}

// Wait implements component: the first reason of any member.
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
	_ = stopping.Wait() // the reasons are in faults
	return errors.Join(faults...)
}
