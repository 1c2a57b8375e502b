package inspect

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/explainer"
)

const receiverWaits = 5

// receiverLines lists the deliveries of a receiver and its backlog, and nothing for other things.
func receiverLines(r *explainer.Receiver, now time.Time) []string {
	if r == nil || r.Sent+r.Waiting+r.Failed+r.Dropped == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%d sent, %d waiting, %d given up", r.Sent, r.Waiting, r.Failed+r.Dropped)}
	for i, d := range r.Deliveries {
		if i == receiverWaits {
			return append(lines, fmt.Sprintf("  and %d more", len(r.Deliveries)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s, %s", d.Event, ui.OneLine(d.Title), ui.Ago(d.At, now)))
	}
	return lines
}
