//go:build !linux && !darwin

package workers

import "errors"

// spaceOf is not known here.
func spaceOf(string) (space, error) { return space{}, errors.ErrUnsupported }
