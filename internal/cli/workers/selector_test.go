package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelector(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"role": "storage", "rack": "r7"}
	for text, want := range map[string]bool{
		"role=storage": true, "role=web": false, "role!=storage": false, "role!=web": true, "gpu!=yes": true, "gpu=": false, "gpu=yes": false,
	} {
		s, err := readSelector([]string{text})
		require.NoError(t, err, text)
		assert.Equal(t, want, s.has(labels), text)
	}
	both, err := readSelector([]string{"role=storage", "rack!=r7"})
	require.NoError(t, err)
	assert.False(t, both.has(labels))
	assert.True(t, selector(nil).has(nil))
	for _, text := range []string{"role", "=x", "!=x"} {
		_, err := readSelector([]string{text})
		assert.ErrorContains(t, err, "write K=V", text)
	}
}
