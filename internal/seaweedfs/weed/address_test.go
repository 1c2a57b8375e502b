package weed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"node-a:9333": "node-a:19333", "10.0.0.1:9333.9334": "10.0.0.1:9334", "[::1]:9333": "[::1]:19333", "a:55535": "a:65535", "a:60000.1": "a:1",
	} {
		target, err := ParseAddress(address)
		require.NoError(t, err, address)
		assert.Equal(t, want, target, address)
	}
	for _, address := range []string{
		"", "a", ":9333", "a:", "a:0", "a:65536", "a:55536", "a:1.0", "a:1.", "a:.1", "a:+1", "a:1.2.3", "a:1.65536", "http://a:1", "u@a:1", "a b:1", "::1:9333",
	} {
		_, err := ParseAddress(address)
		assert.Error(t, err, address)
	}
}

// The address in calls has the gRPC port unless it follows from the other one. [ParseAddress] reads both.
func TestAddressesInCalls(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		address, id string
		grpc        uint32
		want        string
	}{
		{"a:8080", "x", 18080, "a:8080"},
		{"a:8080", "x", 9, "a:8080.9"},
		{"", "b:8080", 18080, "b:8080"},
		{"", "b:8080", 7, "b:8080.7"},
		{"a:8080.9", "x", 10, "a:8080.9"},
		{"a:8080", "x", 0, "a:8080"},
		{"[::1]:8080", "x", 9, "[::1]:8080.9"},
		{"name", "x", 9, "name"},
	} {
		assert.Equal(t, row.want, formAddress(row.address, row.id, row.grpc), "%+v", row)
	}
}

// The same spec gives the same text.
func TestFaultsHaveAnOrder(t *testing.T) {
	t.Parallel()
	spec := Spec{Masters: []string{"m"}, Filers: []string{"f"}, S3: []string{"s"}}
	for range 20 {
		lines := strings.Split(spec.Validate().Error(), "\n")
		require.Len(t, lines, 3)
		for i, key := range []string{"masters", "filers", "s3"} {
			require.Contains(t, lines[i], "cluster."+key+"[0]")
		}
	}
}
