package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

type selection struct {
	// ready are ONLINE and can run a command. The heartbeats of late are overdue.
	ready, late []string
	// absent gives the reason for the other workers with these labels.
	absent map[string]string
}

// choose selects workers by labels. DELETED workers do not count.
func choose(workers []contract.WorkerDetail, labels map[string]string) selection {
	chosen := selection{absent: map[string]string{}}
	for _, worker := range workers {
		id := worker.Registration.ID
		switch {
		case worker.State == contract.WorkerDeleted, !carries(worker.Registration.Labels, labels):
		case worker.State != contract.WorkerOnline:
			chosen.absent[id] = "it is " + string(worker.State)
		case !runsCommands(worker.Registration):
			chosen.absent[id] = "it has no handler " + contract.CommandHandler
		default:
			chosen.ready = append(chosen.ready, id)
			if !worker.Fresh {
				chosen.late = append(chosen.late, id)
			}
		}
	}
	slices.Sort(chosen.ready)
	return chosen
}

func carries(has, wanted map[string]string) bool {
	for key, value := range wanted {
		if found, ok := has[key]; !ok || found != value {
			return false
		}
	}
	return true
}

func runsCommands(worker contract.WorkerRegistration) bool {
	return slices.ContainsFunc(worker.Capabilities, func(c contract.Capability) bool {
		return c.Handler == contract.CommandHandler && c.Execute
	})
}

func missing(workers []contract.WorkerDetail, labels map[string]string) error {
	known := map[string]bool{}
	for _, worker := range workers {
		for key, value := range worker.Registration.Labels {
			known[key+"="+value] = true
		}
	}
	text := "no worker has a label"
	if len(known) > 0 {
		const shown = 10
		names := slices.Sorted(maps.Keys(known))
		text = "workers have " + strings.Join(names[:min(len(names), shown)], ", ")
		if len(names) > shown {
			text += fmt.Sprintf(" and %d more", len(names)-shown)
		}
	}
	return fmt.Errorf("no worker has %s: %s (see `roundsman workers -o wide`)", inWords(labels), text)
}

func inWords(labels map[string]string) string {
	return strings.Join(lists.Map(slices.Sorted(maps.Keys(labels)), func(key string) string { return "label " + key + "=" + labels[key] }), " and ")
}
