package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag/spec"
)

// A large document, whose nodes are not kept, has warnings with places, too.
func TestWarningsOfALargeDocument(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("version: 1\nname: large\nparams: {password: \"{{secret}}\"}\ntasks:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "  - {id: t%d, command: [echo, %d]}\n", i, i)
	}
	warnings := func(text string) spec.Faults {
		loaded, err := spec.Load("large.yaml", []byte(text))
		require.NoError(t, err)
		compiled, err := spec.Compile(loaded, nil)
		require.NoError(t, err)
		return compiled.Warnings()
	}
	assert.Empty(t, warnings(text.String()))
	found := warnings(text.String() + "  - {id: last, command: [mysql, -px]}\n")
	require.Len(t, found, 1)
	assert.Equal(t, 10_005, found[0].Line)
	assert.Contains(t, found[0].Message, "command[1]: -p… is a literal secret")
}
