//go:build !linux

package command

import "context"

// Shim returns 3: there are no shims on this system.
func Shim() int { return 3 }

func (p program) startShimmed(context.Context, *pipes) (child, error) { return nil, errNoProcessTable }

const shims = false
