package workflows

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/fleet"
)

// detailedWorkers is how many workers the Web UI names that get no work.
const detailedWorkers = 10

// details is what the Web UI shows of the registry: how many workers there are in
// each state, and which are not ONLINE, since when and why, as Markdown.
func (f *fleetRun) details() string {
	counts := map[fleet.State]int{}
	var away []string
	for _, s := range f.core.View() {
		counts[s.State]++
		if s.State != fleet.Online {
			away = append(away, awayText(s))
		}
	}
	text := fmt.Sprintf("**%d online**", counts[fleet.Online])
	for _, state := range []fleet.State{fleet.Unreachable, fleet.Offline, fleet.Draining, fleet.Cordoned} {
		if n := counts[state]; n > 0 {
			text += fmt.Sprintf(" · %d %s", n, strings.ToLower(string(state)))
		}
	}
	if f.fault != "" {
		text += "\n\nNobody observes: " + f.fault
	}
	for i, line := range away {
		if i == detailedWorkers {
			return text + fmt.Sprintf("\n- … and %d more: `roundsman workers list`", len(away)-detailedWorkers)
		}
		if i == 0 {
			text += "\n"
		}
		text += "\n- " + line
	}
	return text
}

// awayText is about one worker.
func awayText(s fleet.Status) string {
	reason := s.Cause.Reason
	if s.Cause.By != "" {
		reason = strings.TrimSpace(reason + ", by " + s.Cause.By)
	}
	text := fmt.Sprintf("`%s` %s since %s", s.ID, s.State, s.Since.UTC().Format(time.RFC3339))
	if reason != "" {
		text += ": " + reason
	}
	return text
}
