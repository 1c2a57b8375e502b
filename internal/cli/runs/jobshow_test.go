package runs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandsAreShownAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `["sh","-c","echo a >&2 && cat <b"]`, compactJSON([]string{"sh", "-c", "echo a >&2 && cat <b"}))
}
