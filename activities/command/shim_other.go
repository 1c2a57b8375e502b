//go:build !linux

package command

import "context"

func (p program) startShimmed(context.Context, *pipes) (child, error) {
	return nil, processes.ErrNoTable
}

const shims = false
