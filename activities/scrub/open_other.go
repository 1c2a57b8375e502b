//go:build !unix

package scrub

import (
	"os"
	"path/filepath"
)

// openBelow opens the file with this path below root.
func openBelow(root, relative string, _ bool) (*os.File, error) {
	return os.Open(filepath.Join(root, relative))
}
