package override

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// A new setting must not be forgotten.
func TestEverySettingCanBeChanged(t *testing.T) {
	t.Parallel()
	policy := jobtype.DefaultPolicy().WithDefaults()
	policy.CatchupWindow = jobtype.Duration(time.Hour)
	for path, value := range Flat(policy) {
		name := strings.TrimPrefix(path, "policy.")
		change, err := Parse([]string{fmt.Sprintf("%s=%s", name, value)})
		require.NoError(t, err, name)
		after, err := change.Over(policy)
		require.NoError(t, err, name)
		assert.Equal(t, policy, after, name)
	}
	assert.Len(t, Flat(policy), len(Names()))
}
