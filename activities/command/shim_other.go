//go:build !linux

package command

import (
	"context"

	"github.com/roundsman/roundsman/activities/command/processes"
)

func (p program) startShimmed(context.Context, *pipes) (child, error) {
	return nil, processes.ErrNoTable
}

const shims = false
