package steps_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestWithoutJobsAnObjectIsLost shows without any job why the model's operator checks the disks of a volume
// that fix.replication has copied.
func TestWithoutJobsAnObjectIsLost(t *testing.T) {
	t.Parallel()
	run := func(check bool) bool {
		c := fakecluster.New(nil)
		for _, address := range []string{"a:1", "b:1", "c:1", "d:1"} {
			c.Add(fakecluster.Server{Address: address, Max: 9})
		}
		c.Put(fakecluster.Volume{ID: 1, Placement: 1}, "a:1", "b:1")
		fix := func() {
			if check {
				c.CheckDisk(1)
			}
			c.FixReplication(1)
		}
		with := func(down string, do func()) {
			c.SetDown(down, true)
			do()
			c.SetDown(down, false)
		}
		with("a:1", fix) // b and c have it
		with("c:1", func() { require.True(t, c.Write(1, 1, 10)) })
		with("a:1", func() { require.True(t, c.Write(1, 2, 10)) })
		with("b:1", func() { require.True(t, c.Write(1, 3, 10)) })
		fix() // deletes b, the oldest
		with("a:1", fix)
		fix()
		return c.Readable(1, 1) && c.Readable(1, 2) && c.Readable(1, 3)
	}
	require.False(t, run(false))
	require.True(t, run(true))
}
