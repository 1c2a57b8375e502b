package seaweedfs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

func TestSpecFaults(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		``:                                       "cluster: write `cluster: {masters:",
		`{"masters":[]}`:                         "name the masters",
		`{"masters":["a:9333"],"filer":["b:1"]}`: `unknown field "filer"`,
		`{"masters":["a"]}`:                      "cluster.masters[0]",
		`{"masters":["a:9333","b:70000"]}`:       "cluster.masters[1]",
		`{"masters":["a:60000"]}`:                "the gRPC port would be 70000",
		`{"masters":["a:9333"],"filers":["/x:1"]}`:  "cluster.filers[0]",
		`{"masters":["a:9333"],"tls":{"cert":"c"}}`: "cert and key belong together",
	} {
		_, err := ReadSpec(json.RawMessage(block))
		require.ErrorContains(t, err, want, block)
	}
	_, err := ReadSpec(json.RawMessage(`{"masters":["a:9333","10.0.0.1:60000.19333"],"filers":["[::1]:8888"]}`))
	require.NoError(t, err)
}

func TestProbe(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{})
	probes := clusterUser{}.ProbeCluster(t.Context(), f.block)
	require.Len(t, probes, 1)
	assert.Equal(t, "knows 2 volume servers", probes[0].Found)
	assert.Empty(t, probes[0].Fix)
	probes = clusterUser{}.ProbeCluster(t.Context(), json.RawMessage(`{"masters":["127.0.0.1:1.1"],"filers":["127.0.0.1:1.1"]}`))
	require.Len(t, probes, 2)
	assert.NotEmpty(t, probes[0].Fix)
	assert.NotEmpty(t, probes[1].Fix)
}
