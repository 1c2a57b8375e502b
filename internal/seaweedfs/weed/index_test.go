package weed

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestIndexesOfTheSameObjectsAreEqual: the sizes of their files do not matter.
func TestIndexesOfTheSameObjectsAreEqual(t *testing.T) {
	t.Parallel()
	c := fakecluster.New(nil)
	for _, address := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"} {
		c.Add(fakecluster.Server{Address: address, Max: 9})
	}
	c.Put(fakecluster.Volume{ID: 1, Objects: 9, Deleted: 2, ObjectSize: 100, Placement: 1}, "127.0.0.1:1", "127.0.0.1:2")
	c.Put(fakecluster.Volume{ID: 1, Objects: 9, Deleted: 3, ObjectSize: 100}, "127.0.0.1:3")
	require.NoError(t, c.Compact("127.0.0.1:2", 1))
	_, err := c.Commit("127.0.0.1:2", 1)
	require.NoError(t, err)
	running, err := c.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	cluster, err := Dial(Spec{Masters: []string{running.Master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Close() })
	topology, err := cluster.Topology(t.Context())
	require.NoError(t, err)
	var indexes []steps.Index
	for _, server := range topology.Servers {
		indexes = append(indexes, cluster.Index(t.Context(), server.Address, 1))
	}
	require.Equal(t, uint64(7), indexes[0].Live, indexes[0].Why)
	require.Equal(t, indexes[0], indexes[1])
	require.NotEqual(t, indexes[0], indexes[2])
	require.Equal(t, steps.Unknown, cluster.Index(t.Context(), topology.Servers[0].Address, 2).Presence)
	require.NoError(t, c.EcGenerate("127.0.0.1:1", 1, ""))
	c.SetDown("127.0.0.1:1", true)
	c.SetDown("127.0.0.1:1", false)
	require.Equal(t, steps.Unknown, cluster.Index(t.Context(), topology.Servers[0].Address, 1).Presence)
	require.Equal(t, indexes[0], cluster.HiddenIndex(t.Context(), topology.Servers[0].Address, 1, ""))
	require.Equal(t, steps.Absent, cluster.HiddenIndex(t.Context(), topology.Servers[1].Address, 2, "").Presence)
	c.SetDown("127.0.0.1:1", true)
	require.Equal(t, steps.Unknown, cluster.HiddenIndex(t.Context(), topology.Servers[0].Address, 1, "").Presence)
}

// TestAnIndexIsReadInPieces: a message may end within an entry, and an offset may have five bytes. An
// overwritten object differs from one written once.
func TestAnIndexIsReadInPieces(t *testing.T) {
	t.Parallel()
	for _, offset := range []int{4, wideOffset} {
		entry := func(key, place byte, size ...byte) []byte {
			bytes := append([]byte{0, 0, 0, 0, 0, 0, 0, key}, make([]byte, offset)...)
			bytes[len(bytes)-1] = place
			return append(bytes, size...)
		}
		file := entry(1, 1, 0, 0, 1, 0)
		file = append(file, entry(2, 2, 0, 0, 1, 0)...)
		file = append(file, entry(2, 0, 0xff, 0xff, 0xff, 0xff)...)
		file = append(file, entry(3, 3, 0, 0, 1, 0)...)
		read := func(piece int, file []byte) steps.Index {
			r := indexReader{offset: offset, writes: map[uint64]uint32{}}
			for len(file) > 0 {
				n := min(piece, len(file))
				r.take(file[:n])
				file = file[n:]
			}
			return r.index()
		}
		whole := read(len(file), file)
		require.Equal(t, uint64(2), whole.Live)
		for piece := 1; piece < len(file); piece++ {
			require.Equal(t, whole, read(piece, file))
		}
		require.NotEqual(t, whole, read(9, append(file, entry(3, 4, 0, 0, 1, 0)...)))
	}
}

// TestASilentMasterLeavesTimeForTheNext: it accepts connections and answers nothing.
func TestASilentMasterLeavesTimeForTheNext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	_, port, err := net.SplitHostPort(silent.Addr().String())
	require.NoError(t, err)
	running, err := fakecluster.New(nil).Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	cluster, err := Dial(Spec{Masters: []string{"127.0.0.1:9333." + port, running.Master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), masterTimeout)
	defer cancel()
	_, err = cluster.Topology(ctx)
	require.NoError(t, err)
}
