//go:build !linux && !darwin

package workers

import "errors"

// spaceOf is not supported here.
func spaceOf(string) (space, error) { return space{}, errors.ErrUnsupported }
