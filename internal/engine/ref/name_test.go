package ref_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/ref"
)

func TestNamesOfJobTypesMeanNothingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"list", "show"} {
		require.ErrorContains(t, ref.ValidateJobType(name), "choose another name", name)
	}
	for _, kind := range ref.Kinds() {
		require.ErrorContains(t, ref.ValidateJobType(string(kind)), "choose another name", kind)
	}
	require.ErrorContains(t, ref.ValidateJobType("x-adhoc-y"), "-adhoc")
	assert.NoError(t, ref.ValidateJobType("scrub"))
}
