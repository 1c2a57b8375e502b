package dagrun_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// fanOut is a DAG of n tasks that are alike.
func fanOut(n int, does string) string {
	return fmt.Sprintf("version: 1\nname: bench\nconcurrency: 500\ntasks:\n  - {id: t, for_each: [%s], %s}\n", strings.TrimSuffix(strings.Repeat("1, ", n), ", "), does)
}

// BenchmarkEvents measures the cost of the end of one attempt, with its consequences, in a run of many tasks.
func BenchmarkEvents(b *testing.B) {
	for name, kind := range map[string]struct{ does, result string }{
		"noop":     {does: "noop: true"},
		"command":  {does: "command: [x]"},
		"template": {does: `command: [x, "{{.Item}}"]`},
		"splitter": {does: "command: [x]", result: `{"tasks": [{"id": %q, "noop": true}]}`},
	} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			compiled := compile(b, fanOut(n, kind.does))
			var fleet []contract.WorkerView
			for w := range 50 {
				fleet = append(fleet, worker(fmt.Sprintf("w%02d", w), 10))
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for events := 0; events < b.N; {
					b.StopTimer()
					r, err := dagrun.NewRun(compiled)
					require.NoError(b, err)
					g, err := newGraph(r, dagrun.Config{}, epoch)
					require.NoError(b, err)
					queue := starts(g.Start(epoch))
					queue = append(queue, starts(g.Next(epoch, run.WorkersChanged{Workers: fleet}))...)
					b.StartTimer()
					for ; len(queue) > 0 && events < b.N; events++ {
						d := queue[0]
						queue = queue[1:]
						end := run.Ending{}
						if kind.result != "" && d.Kind == run.Start {
							end.Result = fmt.Appendf(nil, kind.result, fmt.Sprintf("x%d", d.Item))
						}
						queue = append(queue, starts(g.Next(epoch, run.Ended{Item: d.Item, Attempt: d.Attempt, Ending: end}))...)
					}
				}
			})
		}
	}
}

func starts(decisions []decision) (list []decision) {
	for _, d := range decisions {
		if d.Kind == run.Start || d.Kind == startNoop {
			list = append(list, d)
		}
	}
	return list
}
