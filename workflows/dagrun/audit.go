package dagrun

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

const auditTasks = 10

// auditUpdate records a completed update; before is the result of auditBefore.
func (r *dagRun) auditUpdate(ctx workflow.Context, name string, request dagrun.Request, before string) {
	entry := contract.AuditEntry{Action: "dag." + name, Actor: request.By, Detail: request.Note, Before: before}
	entry.After = r.auditBefore(request)
	switch {
	case len(request.Tasks) == 1:
		entry.Object = r.loop.Audit.Object() + "/" + request.Tasks[0]
	case len(request.Tasks) == 0:
		entry.Detail, entry.Count = listChanges(r.core.Answer())
	}
	r.loop.Audit.Updated(ctx, entry)
}

func (r *dagRun) auditBefore(request dagrun.Request) string {
	run := r.core.Run()
	switch request.Kind { //nolint:exhaustive // the others are about tasks
	case dagrun.SetConcurrency:
		return contract.ConcurrencyOf(request.FanOut) + ": " + strconv.Itoa(r.core.Limit(request.FanOut))
	case dagrun.Release:
		return r.Phase()
	}
	var states []string
	for _, id := range request.Tasks[:min(len(request.Tasks), auditTasks)] {
		if i, ok := run.Lookup(id); ok {
			states = append(states, id+": "+run.State(i).String())
		}
	}
	return strings.Join(states, "; ")
}

func listChanges(a dagrun.Answer) (detail string, count int) {
	if detail = listed(a.Changed); len(a.Redefined) > 0 {
		detail = strings.TrimPrefix(detail+"; redefined: "+listed(a.Redefined), "; ")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Limits)) {
		detail = strings.TrimPrefix(detail+"; "+name+": "+strconv.Itoa(a.Limits[name]), "; ")
	}
	return detail, len(a.Changed) + len(a.Redefined)
}

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), auditTasks)], ", ")
	if more := len(names) - auditTasks; more > 0 {
		text += ", and " + strconv.Itoa(more) + " more"
	}
	return text
}
