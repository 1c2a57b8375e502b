package jobtypes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
)

func dialAt(t *testing.T, address string) *starter.Client {
	t.Helper()
	client, err := starter.Dial(t.Context(), starter.Options{Address: address, HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}
