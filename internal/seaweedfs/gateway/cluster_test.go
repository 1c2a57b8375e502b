package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

func clusterUser(t *testing.T, handler string) jobtype.ClusterUser {
	t.Helper()
	user, ok := gateway.Validators()[handler].(jobtype.ClusterUser)
	require.True(t, ok, handler)
	return user
}

func TestAddressesOfWeedHandlersAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ handler, block, want string }{
		{"weed-vacuum", `{"masters":["10.0.0.1"]}`, `cluster.masters[0]: "10.0.0.1" is no address`},
		{"weed-vacuum", `{"masters":["a:9333"],"filers":["b"]}`, "cluster.filers[0]"},
		{"weed-vacuum", `{}`, "cluster.masters: weed-vacuum finds nothing without it"},
		{"weed-admin_script", `{"masters":["a:9333"]}`, "cluster.filers: weed-admin_script"},
		{"weed-s3_lifecycle", `{"filers":["a:8888"]}`, "cluster.s3: weed-s3_lifecycle"},
		{"weed-s3_lifecycle", `{"filers":["a:8888"],"s3":["a:70000"]}`, "cluster.s3[0]"},
	} {
		require.ErrorContains(t, clusterUser(t, c.handler).ValidateCluster(json.RawMessage(c.block)), c.want, c.block)
	}
	for handler, block := range map[string]string{
		"weed-vacuum": `{"masters":["a:9333"]}`, "weed-iceberg_maintenance": `{"filers":["a:8888"]}`, "weed-lance_compact": `{}`,
		"weed-s3_lifecycle": `{"filers":["a:8888"],"s3":["a:8333.18333"]}`,
	} {
		require.NoError(t, clusterUser(t, handler).ValidateCluster(json.RawMessage(block)), handler)
	}
}

func TestServersOfWeedHandlersAreContacted(t *testing.T) {
	t.Parallel()
	c := fakecluster.New(nil)
	c.Add(fakecluster.Server{Address: "127.0.0.1:1", Max: 9})
	running, err := c.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	block, err := json.Marshal(map[string][]string{"masters": {running.Master}, "filers": {"127.0.0.1:1.1"}, "s3": {"127.0.0.1:1.1"}})
	require.NoError(t, err)
	probes := clusterUser(t, "weed-s3_lifecycle").ProbeCluster(t.Context(), block)
	require.Len(t, probes, 3)
	require.Empty(t, probes[0].Fix)
	require.Contains(t, probes[1].Fix, "cluster.filers")
	require.Contains(t, probes[2].Fix, "cluster.s3")
	require.NotEmpty(t, clusterUser(t, "weed-vacuum").ProbeCluster(t.Context(), json.RawMessage(`{}`))[0].Fix)
}
