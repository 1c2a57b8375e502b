package dag

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// TestAddedTasksAreCheckedBeforeTheyTravel: faults within a file are found without a request, and refer to the file.
func TestAddedTasksAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "extra.yaml")
	for text, says := range map[string]string{
		"":         ": there is nothing to add",
		"- {1: 2}": ":1:4: a task has no key",
		"- id: [":  ":1",
		"- id: a\n  noop: true\n- id: b\n  comand: [x]\n":       `:4:3: a task has no key "comand"; did you mean "command"?`,
		strings.Repeat("- aaaaaaaaaaaaaaa\n", 70_000):           "the limit is 1048576",
		`{"tasks": [{"id": "a", "noop": true, "sleep": "1s"}]}`: ":1:",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		err := AddTasks(&ui.Program{}, nil, nil, starter.RunRef{}, file)
		require.ErrorContains(t, err, file+":")
		require.ErrorContains(t, err, says)
	}
	require.Error(t, AddTasks(&ui.Program{}, nil, nil, starter.RunRef{}, "/nonexistent.yaml"))
}
