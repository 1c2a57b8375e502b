// Package handled lists the handlers of job types, DAGs and runs.
package handled

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

type finder struct {
	ctx    context.Context //nolint:containedctx // it lives for one call
	client *starter.Client
	specs  []contract.JobTypeSpec
	// applied takes specs only for job types that are not applied. A task of one in neither can execute nothing.
	applied bool
	seen    map[string]bool
	found   []string
}

func newFinder(ctx context.Context, client *starter.Client, specs []contract.JobTypeSpec) *finder {
	return &finder{ctx: ctx, client: client, specs: specs, seen: map[string]bool{}}
}

// OfJobType lists the handlers of an applied job type.
func OfJobType(ctx context.Context, client *starter.Client, name string) ([]string, error) {
	f := newFinder(ctx, client, nil)
	err := f.jobType(name)
	return f.found, err
}

// OfSpec lists the handlers of a job type as a configuration has it.
func OfSpec(ctx context.Context, client *starter.Client, one contract.JobTypeSpec, all []contract.JobTypeSpec) ([]string, error) {
	f := newFinder(ctx, client, all)
	err := f.spec(one)
	return f.found, err
}

// OfAppliedOr lists the handlers of a job type as it is applied, or as specs have it. The same holds for the job types of
// its tasks.
func OfAppliedOr(ctx context.Context, client *starter.Client, name string, specs []contract.JobTypeSpec) ([]string, error) {
	f := newFinder(ctx, client, specs)
	f.applied = true
	err := f.jobType(name)
	return f.found, err
}

// OfGraph lists the handlers of a compiled DAG.
func OfGraph(ctx context.Context, client *starter.Client, graph *dag.Graph) ([]string, error) {
	f := newFinder(ctx, client, nil)
	err := f.graph(graph)
	return f.found, err
}

// OfText lists the handlers of a DAG that a proposal carries.
func OfText(ctx context.Context, client *starter.Client, text string) ([]string, error) {
	compiled, err := spec.CompileText("dag", text, nil, nil)
	if err != nil {
		return nil, err
	}
	return OfGraph(ctx, client, compiled.Graph)
}

// OfRun lists the handlers of the graph that a run of a DAG was started with.
func OfRun(ctx context.Context, client *starter.Client, ref starter.RunRef) ([]string, error) {
	graph, err := client.DAGs().Graph(ctx, ref)
	if err != nil {
		return nil, err
	}
	f := newFinder(ctx, client, nil)
	f.applied = true
	err = f.graph(graph)
	return f.found, err
}

// OfGroup lists the handlers of a run: those of its start, and those applied now, which a retry executes.
func OfGroup(ctx context.Context, client *starter.Client, ref starter.RunRef) ([]string, error) {
	var started contract.JobGroupInput
	if err := client.Runs().StartedWith(ctx, ref, &started); err != nil {
		return nil, err
	}
	f := newFinder(ctx, client, nil)
	f.applied = true
	if err := f.spec(started.Spec); err != nil {
		return nil, err
	}
	if started.Submission != nil {
		for _, proposal := range started.Submission.Proposals {
			if proposal.DAG == "" {
				continue
			}
			compiled, err := spec.CompileText("dag", proposal.DAG, nil, nil)
			if err != nil {
				return nil, err
			}
			if err := f.graph(compiled.Graph); err != nil {
				return nil, err
			}
		}
	}
	if err := f.jobType(started.Spec.Name); err != nil && !errors.Is(err, starter.ErrNotFound) {
		return nil, err
	}
	return f.found, nil
}

func (f *finder) add(handler string) {
	if !slices.Contains(f.found, handler) {
		f.found = append(f.found, handler)
	}
}

func (f *finder) jobType(name string) error {
	if f.seen[name] {
		return nil
	}
	f.seen[name] = true
	at := slices.IndexFunc(f.specs, func(s contract.JobTypeSpec) bool { return s.Name == name })
	if at >= 0 && !f.applied {
		return f.spec(f.specs[at])
	}
	known, err := jobtypes.Of(f.client).Get(f.ctx, name)
	switch missing := errors.Is(err, starter.ErrNotFound); {
	case missing && at >= 0:
		return f.spec(f.specs[at])
	case err != nil:
		return err
	}
	return f.spec(known.Spec)
}

func (f *finder) spec(s contract.JobTypeSpec) error {
	if s.DAG == nil {
		f.add(s.Handler)
		return nil
	}
	compiled, err := spec.CompileText(s.DAG.Name, s.DAG.Text, s.DAG.Files, s.Params)
	if err != nil {
		return fmt.Errorf("the DAG of job type %s: %w", s.Name, err)
	}
	return f.graph(compiled.Graph)
}

// Every DAG has the handler of commands, because a task may return tasks with commands.
func (f *finder) graph(graph *dag.Graph) error {
	f.add(contract.CommandHandler)
	names, err := spec.JobTypes(graph)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.jobType(name); err != nil && !(f.applied && errors.Is(err, starter.ErrNotFound)) {
			return err
		}
	}
	return nil
}
