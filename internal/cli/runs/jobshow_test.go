package runs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// TestAWarningIsNoError: its work was done.
func TestAWarningIsNoError(t *testing.T) {
	t.Parallel()
	for state, label := range map[string]string{contract.JobWarning: "warning", contract.JobFailed: "error"} {
		var out strings.Builder
		c := &commands{&ui.Program{Env: ui.Env{Stdout: &out, Now: time.Now}}}
		c.showJob(starter.ItemDetail{Item: starter.Item{State: state, Error: "2 files skipped"}})
		assert.Regexp(t, "(?m)^"+label+" +2 files skipped$", out.String())
	}
}

func TestCommandsAreShownAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `["sh","-c","echo a >&2 && cat <b"]`, compactJSON([]string{"sh", "-c", "echo a >&2 && cat <b"}))
}
