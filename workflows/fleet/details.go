package fleet

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/fleet"
)

const detailedWorkers = 10

func (r *run) showDetails() {
	if text := details(r.core, r.fault); text != r.details {
		r.details = text
		workflow.SetCurrentDetails(r.ctx, text)
	}
}

// details returns the number of workers in each state, and those not ONLINE, as Markdown.
func details(core *fleet.Registry, fault string) string {
	text := fmt.Sprintf("**%d online**", core.Counts(contract.WorkerOnline))
	for _, state := range []contract.WorkerState{contract.WorkerUnreachable, contract.WorkerOffline, contract.WorkerDraining, contract.WorkerCordoned} {
		if n := core.Counts(state); n > 0 {
			text += fmt.Sprintf(" · %d %s", n, strings.ToLower(string(state)))
		}
	}
	if core.Incomplete() {
		text += " · just created, workers are still registering"
	}
	if fault != "" {
		text += "\n\nThe workers are not observed: " + fault
	}
	away, all := core.Away(detailedWorkers)
	if all > 0 {
		text += "\n"
	}
	for _, w := range away {
		text += "\n- " + awayText(w)
	}
	if more := all - len(away); more > 0 {
		text += fmt.Sprintf("\n- … and %d more: `roundsman workers`", more)
	}
	return text
}

func awayText(w contract.WorkerDetail) string {
	reason := explain.Transition(w.Cause)
	if w.Cause.By != "" {
		reason = strings.TrimSpace(reason + ", by " + w.Cause.By)
	}
	text := fmt.Sprintf("`%s` %s since %s", w.Registration.ID, w.State, w.Since.UTC().Format(time.RFC3339))
	if reason != "" {
		text += ": " + reason
	}
	return text
}
