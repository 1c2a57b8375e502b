package seaweedfs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
)

func TestASurplusCopyIsComparedBeforeOneIsDeleted(t *testing.T) {
	t.Parallel()
	require.Equal(t,
		"a copy on b:1 (`volume.check.disk -volumeId 7`, then `volume.fix.replication`), read-only on a:1 (`volume.mark -writable -volumeId 7 -node a:1`)",
		leftovers(7, []steps.Leftover{
			{Kind: steps.LeftReadOnly, Server: "a:1"}, {Kind: steps.LeftCopy, Server: "b:1"}, {Kind: steps.LeftReadOnly, Server: "b:1"},
		}))
	for _, kind := range []steps.LeftoverKind{steps.LeftFiles, steps.LeftHidden} {
		require.Contains(t, leftovers(7, []steps.Leftover{{Kind: kind, Server: "a:1"}}), "delete before the next restart")
	}
}
