package cli

import (
	"fmt"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// Words of other programs are never run as the similar command.
func foreign(here string, args []string) string {
	line, known := map[string]string{
		"run":      "to start: roundsman start %[1]s; to list: roundsman runs %[1]s",
		"get":      "to show: roundsman show %s",
		"describe": "to show: roundsman show %s",
		"why":      "roundsman explain %s",
		"trigger":  "to start: roundsman start %s",
		"stop":     "to end runs: roundsman cancel %[1]s; to start nothing new: roundsman pause %[1]s",
		"kill":     "to end runs: roundsman cancel %s",
		"ps":       "to list: roundsman jobs -s running",
		"tail":     "to follow the output: roundsman logs -f %s",
		"rerun":    "to run failed items again: roundsman retry %s",
	}[args[0]]
	if here != ui.ProgramName || !known {
		return ""
	}
	what := "REF"
	if len(args) > 1 {
		what = args[1]
	}
	if args[0] == "ps" {
		return fmt.Sprintf("unknown command %q: %s", args[0], line)
	}
	return fmt.Sprintf("unknown command %q: ", args[0]) + fmt.Sprintf(line, what)
}
