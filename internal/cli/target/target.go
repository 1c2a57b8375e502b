// Package target resolves the references of a command line, and applies an action to each.
package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// Target is the thing that a reference names.
type Target struct {
	Text   string
	Parsed ref.Ref
	// Kind of a job type, worker, lane, pool, object, receiver or key; empty for runs and items.
	Kind ref.Kind
	Name string
	Run  starter.RunRef
	Item starter.ItemRef
}

// IsRun reports whether it is a run.
func (t Target) IsRun() bool { return t.Kind == "" && t.Run.WorkflowID != "" }

// IsItem reports whether it is a job or task.
func (t Target) IsItem() bool { return t.Kind == "" && t.Item.ID != "" }

// IsKey reports whether it is a dedupe key.
func (t Target) IsKey() bool { return t.Parsed.HasKey }

// Accepts are the forms of references that a command takes.
type Accepts struct {
	// Named are the kinds that a bare name can have; Runs: a bare name without one of these means its run.
	Named []ref.Kind
	Runs  bool
	Items bool
	// Keys accepts TYPE:KEY as the key itself, not as its newest job.
	Keys bool
	// Changes refuses a name that several open runs have.
	Changes bool
}

// Resolve returns the target of a reference.
func (a Accepts) Resolve(ctx context.Context, client *starter.Client, text string) (Target, error) {
	parsed, err := ref.Parse(text)
	if err != nil {
		return Target{}, starter.Invalidf("%w", err)
	}
	t, resolver := Target{Text: text, Parsed: parsed}, refs.Of(client)
	resolver.Strict = a.Changes
	switch {
	case parsed.Kind != "" && parsed.Kind != ref.DAG:
		if !slices.Contains(a.Named, parsed.Kind) {
			return t, starter.Invalidf("%s is a %s: this command takes %s", text, parsed.Kind, a)
		}
		t.Kind, t.Name = parsed.Kind, parsed.Name
		return t, checkName(t)
	case parsed.HasKey && a.Keys && !parsed.AtRun && parsed.Name != "":
		return t, nil
	case parsed.HasKey || parsed.Item != "":
		return a.item(ctx, resolver, t)
	case parsed.Bare() && len(a.Named) > 0:
		return a.named(ctx, client, t)
	}
	if !a.Runs {
		is, next := "is a run", ""
		if parsed.Bare() {
			is = "names no job or task"
		}
		if a.Items {
			next = fmt.Sprintf("; `roundsman jobs %s` lists its items", text)
		}
		return t, starter.Invalidf("%s %s: this command takes %s%s", text, is, a, next)
	}
	t.Run, err = resolver.Run(ctx, text)
	return t, err
}

// checkName refuses a name that no such thing can have.
func checkName(t Target) error {
	if !slices.Contains([]ref.Kind{ref.JobType, ref.Worker, ref.Pool, ref.APIKey}, t.Kind) {
		return nil
	}
	if err := jobtype.ValidateName(t.Name); err != nil {
		return ui.Faulty(err)
	}
	return nil
}

func (a Accepts) item(ctx context.Context, resolver refs.Resolver, t Target) (Target, error) {
	if a.Runs && !t.Parsed.HasKey {
		// The run of a DAG without its dag/, or of a sub-DAG.
		run, err := resolver.Run(ctx, t.Text)
		if err == nil && run.Kind() == starter.KindDAG {
			t.Run = run
			return t, nil
		}
	}
	if !a.Items {
		return t, starter.Invalidf("%s is a job or task: this command takes %s", t.Text, a)
	}
	item, err := resolver.Item(ctx, t.Text)
	t.Item = item
	return t, err
}

func (a Accepts) named(ctx context.Context, client *starter.Client, t Target) (Target, error) {
	kinds, silent := refs.Of(client).Kinds(ctx, t.Parsed.Name, a.Named)
	if a.Changes && len(kinds) == 0 && silent != nil { // A change does not guess: the name may be that of a worker.
		return t, silent
	}
	switch {
	case len(kinds) > 1:
		var forms strings.Builder
		for _, kind := range kinds {
			forms.WriteString("\n  " + string(kind) + "/" + t.Parsed.Name)
		}
		return t, starter.Invalidf("%s is ambiguous, write one of:%s", t.Text, forms.String())
	case len(kinds) == 1:
		t.Kind, t.Name = kinds[0], t.Parsed.Name
		return t, nil
	case a.Runs:
		resolver := refs.Of(client)
		resolver.Strict = a.Changes
		if run, err := resolver.Run(ctx, t.Text); err == nil || !errors.Is(err, starter.ErrNotFound) {
			t.Run = run
			return t, err
		}
	}
	if silent != nil {
		return t, silent
	}
	wanted := slices.Clone(a.Named)
	if a.Runs { // A run has the name of its job type or DAG.
		wanted = append(wanted, ref.JobType, ref.DAG)
	}
	return t, refs.Of(client).Unknown(ctx, t.Parsed.Name, wanted)
}

// String lists the accepted forms.
func (a Accepts) String() string {
	all := lists.Map(a.Named, func(kind ref.Kind) string { return strings.ToUpper(string(kind)) })
	if a.Runs {
		all = append(all, "RUN")
	}
	if a.Items {
		all = append(all, "RUN/ITEM")
	}
	if a.Keys {
		all = append(all, "TYPE:KEY")
	}
	return strings.Join(all, ", ")
}
