package starter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
)

// NAME@last is never a run named last.
func TestReservedRunNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"open", "last", "bad", "1120T0900Z", "1120T0900"} {
		assert.ErrorContains(t, starter.CheckRunName(name), "means another run", name)
	}
	for _, name := range []string{"december", "ticket-47", "20261120T090000-a1b2c3", "bad-1"} {
		require.NoError(t, starter.CheckRunName(name), name)
	}
}
