package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestADiskIsFull(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		space space
		want  string
	}{
		{space{}, ""},
		{space{bytes: 16 * mib, bytesLeft: 8 * mib, files: 100, filesLeft: 50}, ""},
		{space{bytes: 16 * mib}, "0 MiB of 16 MiB are left"},
		{space{bytes: 2000 * 1024 * mib, bytesLeft: 50 * 1024 * mib}, ""},
		{space{bytes: 2000 * 1024 * mib, bytesLeft: 900 * mib}, "900 MiB of 2048000 MiB are left"},
		{space{bytes: 16 * mib, bytesLeft: 8 * mib, files: 100, filesLeft: 4}, "4 of 100 inodes are left"},
	} {
		assert.Equal(t, c.want, c.space.scarce())
	}
}
