package workers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func TestSettingsOfAWorker(t *testing.T) {
	t.Parallel()
	input, err := resizing([]string{"max_execute=8", "max_detect=1"})
	require.NoError(t, err)
	assert.Equal(t, contract.ResizeWorkerInput{MaxDetect: 1, MaxExecute: 8}, input)
	input, err = resizing([]string{"max_execute="})
	require.NoError(t, err)
	assert.True(t, input.Reset)
	for _, settings := range [][]string{{"max_execute"}, {"slots=3"}, {"max_execute=0"}, {"max_execute=many"}, {"max_execute=", "max_detect=2"}} {
		_, err := resizing(settings)
		assert.Error(t, err, settings)
	}
}
