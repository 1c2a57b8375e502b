//go:build !unix

package scrub

import (
	"os"
	"path/filepath"
)

func openBelow(root, relative string, _ bool) (*os.File, error) {
	return os.Open(filepath.Join(root, relative))
}
