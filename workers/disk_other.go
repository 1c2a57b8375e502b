//go:build !linux && !darwin

package workers

import "errors"

func spaceOf(string) (space, error) { return space{}, errors.ErrUnsupported }
