package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag/spec"
)

// TestManyMisspeltNeedsCostNoSearchEach: 20,000 names in 900 KB were compared with 20,000
// tasks each, which took minutes. A similar name is searched for the first ones only.
func TestManyMisspeltNeedsCostNoSearchEach(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("version: 1\nname: d\ntasks:\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "  - {id: task%d, needs: [tsk%d], noop: true}\n", i, i)
	}
	_, err := spec.CompileText("d", text.String(), nil, nil)
	var faults spec.Faults
	require.ErrorAs(t, err, &faults)
	searched := 0
	for _, fault := range faults {
		if strings.Contains(fault.Message, "did you mean") {
			searched++
		}
	}
	assert.Equal(t, 20, searched)
	assert.Contains(t, err.Error(), "check its spelling")
}
