package jobtypes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	dagspec "github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// servedTimeout bounds the wait of a list for the registry; the list is useful without it.
const servedTimeout = 2 * time.Second

// AddServed marks job types that no worker can serve now. It adds nothing without a control plane, and while a new
// registry may lack living workers.
func (c Client) AddServed(ctx context.Context, types []JobType) error {
	if len(types) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	registry, err := c.client.Workers().Registry(limited, contract.WorkersQueryInput{})
	if err != nil {
		return fmt.Errorf("job types without a worker cannot be listed: %w", err)
	}
	if registry.Incomplete {
		return nil
	}
	specs := lists.Map(types, func(known JobType) contract.JobTypeSpec { return known.Spec })
	for i, known := range types {
		for _, wanted := range Wants(known.Spec, specs) {
			if missing := wanted.Missing(registry.Workers); missing.Lack != explain.LackNone {
				types[i].NoWorker, types[i].Missing, types[i].lacks = known.Spec.DAG == nil, missing.String(), missing
				break
			}
		}
	}
	return nil
}

// Unserved returns the enabled job types of a plan that no worker can serve now, by name.
func (c Client) Unserved(ctx context.Context, plan Plan) ([]JobType, error) {
	var types []JobType
	for _, name := range slices.Sorted(maps.Keys(plan.wanted)) {
		if wanted := plan.wanted[name]; wanted.enabled {
			types = append(types, JobType{Name: name, Spec: wanted.spec})
		}
	}
	err := c.AddServed(ctx, types)
	return slices.DeleteFunc(types, func(known JobType) bool { return known.Missing == "" }), err
}

// maxWantsOf bounds the text of a DAG whose tasks are read for [Wants], in bytes.
const maxWantsOf = 256 << 10

// Wants returns the requirements of a job type, or of its DAG's tasks, on workers. It omits templates and large DAGs.
func Wants(spec contract.JobTypeSpec, specs []contract.JobTypeSpec) []explain.Wanted {
	if spec.DAG == nil {
		return []explain.Wanted{{JobType: spec.Name, Handler: spec.Handler, Labels: spec.Labels}}
	}
	var wants []explain.Wanted
	if len(spec.Labels) > 0 {
		wants = append(wants, explain.Wanted{JobType: spec.Name, Labels: spec.Labels})
	}
	if len(spec.DAG.Text) > maxWantsOf {
		return wants
	}
	loaded, err := dagspec.Load(spec.DAG.File, []byte(spec.DAG.Text))
	if err != nil {
		return wants // Its runs report the fault.
	}
	for i := range loaded.Tasks {
		wanted, needs := wantedBy(&loaded.Tasks[i], specs)
		if needs && !slices.ContainsFunc(wants, func(w explain.Wanted) bool {
			return w.JobType == wanted.JobType && w.Handler == wanted.Handler && w.Node == wanted.Node && maps.Equal(w.Labels, wanted.Labels)
		}) {
			wants = append(wants, wanted)
		}
	}
	return wants
}

// wantedBy returns false for a task that needs no worker, or whose place is a template.
func wantedBy(task *dagspec.Task, specs []contract.JobTypeSpec) (explain.Wanted, bool) {
	wanted := explain.Wanted{Node: task.Node, Labels: task.Labels}
	places := append(slices.Collect(maps.Values(task.Labels)), task.Node)
	if slices.ContainsFunc(places, func(place string) bool { return strings.Contains(place, "{{") }) {
		return wanted, false
	}
	switch {
	case len(task.Command) > 0:
		wanted.Handler = contract.CommandHandler
		return wanted, true
	case task.JobType != "":
		at := slices.IndexFunc(specs, func(spec contract.JobTypeSpec) bool { return spec.Name == task.JobType })
		if at < 0 || specs[at].Handler == "" {
			return wanted, false
		}
		wanted.JobType, wanted.Handler = task.JobType, specs[at].Handler
		return wanted, true
	}
	return wanted, false
}
