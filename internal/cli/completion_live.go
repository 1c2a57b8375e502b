package cli

import (
	"context"
	"flag"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

const (
	// liveWithin bounds the wait for the server after a key press.
	liveWithin = 300 * time.Millisecond
	// liveRuns bounds the candidates among runs, the newest first.
	liveRuns = 50
)

const (
	liveTypes   = "job types"
	liveWorkers = "workers"
	liveRunIDs  = "runs"
	liveTold    = "receivers"
	liveAll     = "all"
)

// liveArguments are the kinds of the arguments of commands, by the group they are in.
var liveArguments = map[string]string{ //nolint:gochecknoglobals // constant table
	"jobtypes": liveTypes, "workers": liveWorkers, "runs": liveRunIDs, "jobs": liveRunIDs, "explain": liveAll,
	"start": liveTypes, "submit": liveTypes, "holds": liveTypes, "schedule": liveTypes, "drain": liveWorkers, "show": liveAll, "pause": liveAll,
	"resume": liveAll, "set": liveAll, "audit": liveAll, "delete": liveWorkers, "logs": liveRunIDs, "watch": liveRunIDs, "retry": liveRunIDs,
	"cancel": liveRunIDs, "approve": liveRunIDs, "reject": liveRunIDs, "skip": liveRunIDs,
}

var liveFlags = map[string]string{ //nolint:gochecknoglobals // constant table
	"worker": liveWorkers, "test": liveTold,
}

func group(command *cli.Command) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(command.HelpName, ui.ProgramName+" "), " ")
	return first
}

// liveNames returns nothing if the answer is late.
func (c *commands) liveNames(ctx context.Context, kind, last string, typed []string) []string {
	if kind == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, liveWithin)
	defer cancel()
	settings, err := c.Temporal(typedContext(limited, typed))
	if err != nil {
		return nil
	}
	client, err := c.Dial(limited, settings)
	if err != nil {
		return nil
	}
	defer client.Close()
	if name, _, atRun := strings.Cut(last, "@"); atRun {
		return runsOf(limited, client, name)
	}
	return namesOf(limited, client, kind)
}

func runsOf(ctx context.Context, client *starter.Client, name string) []string {
	names := []string{name + "@" + ref.Open, name + "@" + ref.Last, name + "@" + ref.Bad}
	for _, filter := range []starter.RunFilter{{JobType: name, Limit: liveRuns}, {DAG: name, Limit: liveRuns}} {
		runs, _ := client.Runs().List(ctx, filter)
		for _, run := range runs {
			names = append(names, ref.OfRun(run.WorkflowID))
		}
	}
	return names
}

func typedContext(ctx context.Context, typed []string) *cli.Context {
	set := flag.NewFlagSet(ui.ProgramName, flag.ContinueOnError)
	for _, common := range ui.CommonFlags() {
		if err := common.Apply(set); err != nil {
			continue // It has its default.
		}
	}
	for i, word := range typed {
		name, value, whole := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !whole && i+1 < len(typed) {
			value = typed[i+1]
		}
		if strings.HasPrefix(word, "-") && set.Lookup(name) != nil {
			_ = set.Set(name, value) // An argument that is no value cannot select the server.
		}
	}
	from := cli.NewContext(cli.NewApp(), set, nil)
	from.Context = ctx
	return from
}

func namesOf(ctx context.Context, client *starter.Client, kind string) (names []string) {
	named := refs.Of(client)
	if kind != liveWorkers && kind != liveTold {
		names = append(names, named.Names(ctx, ref.JobType)...)
	}
	if kind == liveWorkers || kind == liveAll {
		names = append(names, named.Names(ctx, ref.Worker)...)
	}
	if kind == liveRunIDs || kind == liveAll {
		runs, _ := client.Runs().List(ctx, starter.RunFilter{Limit: liveRuns})
		for _, run := range runs {
			names = append(names, run.WorkflowID)
		}
	}
	if kind == liveTold || kind == liveAll {
		names = append(names, named.Names(ctx, ref.Receiver)...)
	}
	return names
}
