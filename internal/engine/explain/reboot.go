package explain

import (
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/engine/action"
)

// Reboot is a verdict of package reboot with its numbers.
type Reboot struct {
	Code, Worker         string
	Running, Lost        int
	Alone                []string
	Reported, Unsearched bool
	// Draining means that it takes no new work.
	Draining bool
}

// Text returns the verdict in one line: the code, the reasons, and the command.
func (r Reboot) Text() string { return r.Code + ": " + r.Why() }

// Why returns the reasons and the command.
func (r Reboot) Why() string {
	const named = 3
	var why []string
	if !r.Reported {
		why = append(why, "its process sends no report")
	}
	switch {
	case r.Running > 0:
		why = append(why, runs(r.Running))
	case r.Reported:
		why = append(why, "nothing runs there")
	}
	if r.Lost > 0 {
		why = append(why, counted(r.Lost, "lost attempt")+" may still run")
	}
	if r.Unsearched {
		why = append(why, "not all runs were searched")
	}
	if n := len(r.Alone); n > named {
		why = append(why, fmt.Sprintf("only it serves %s and %d more", strings.Join(r.Alone[:named], ", "), n-named))
	} else if n > 0 {
		why = append(why, "only it serves "+strings.Join(r.Alone, ", "))
	}
	text := strings.Join(why, ", ")
	switch {
	case r.Draining:
		return text + "; it takes no new work"
	case r.Reported && r.Running > 0:
		text += ": " + act(about(action.DrainWorker, "id", r.Worker)).Text()
	}
	return text
}

func runs(n int) string {
	if n == 1 {
		return "1 job runs there"
	}
	return fmt.Sprintf("%d jobs run there", n)
}
