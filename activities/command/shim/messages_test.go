package shim

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

// TestZeroReachesTheStage: gob leaves pointers to zero values out.
func TestZeroReachesTheStage(t *testing.T) {
	t.Parallel()
	var limits rlimit.Limits
	require.NoError(t, json.Unmarshal([]byte(`{"core": "0"}`), &limits))
	zero := 0
	sent := Order{Path: "/bin/true", Setup: &Setup{Umask: &zero, Nice: &zero, Limits: limits}}
	var wire bytes.Buffer
	require.NoError(t, gob.NewEncoder(&wire).Encode(sent))
	var received Order
	require.NoError(t, gob.NewDecoder(&wire).Decode(&received))
	assert.Equal(t, sent, received)
	require.NotNil(t, received.Setup.Limits.Core)
}
