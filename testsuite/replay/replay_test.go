package replay_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
	"github.com/roundsman/roundsman/workflows"
)

const testdata = "testdata"

var (
	record  = flag.Bool("record", false, "record the histories again, against the real server")
	only    = flag.String("only", "", "record only the job groups, or DAGs, of these names, separated by commas")
	noCache = flag.Bool("no-cache", false, "replay without a workflow cache")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *noCache {
		worker.SetStickyWorkflowCacheSize(0)
	}
	m.Run()
}

// TestReplay replays every recorded history.
func TestReplay(t *testing.T) {
	for workflowType, version := range replay.Versions() {
		names, err := replay.List(testdata, workflowType)
		require.NoError(t, err)
		current := 0
		for _, name := range names {
			if name.Version == version {
				current++
			}
			t.Run(workflowType+"/"+name.Scenario, func(t *testing.T) {
				history, err := replay.Load(testdata, name)
				require.NoError(t, err)
				require.NoError(t, replay.Play(history))
			})
		}
		assert.Positive(t, current, "%s has no history of version %d: run `make history`", workflowType, version)
	}
}

// TestReplayWithoutCache runs TestReplay in a process of its own, because the size of the cache is a setting of
// the process.
func TestReplayWithoutCache(t *testing.T) {
	if *noCache {
		t.Skip("this is that process")
	}
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReplay$", "-no-cache").CombinedOutput()
	require.NoError(t, err, string(output))
}

// TestReplayFindsChanges: a history with other decisions than the code's must fail. Otherwise a successful
// replay proves nothing.
func TestReplayFindsChanges(t *testing.T) {
	t.Parallel()
	for workflowType := range replay.Versions() {
		names, err := replay.List(testdata, workflowType)
		require.NoError(t, err)
		found := false
		for _, name := range names {
			history, err := replay.Load(testdata, name)
			require.NoError(t, err)
			if tamper(history) {
				found = true
				require.Error(t, replay.Play(history), name.Scenario)
			}
		}
		assert.True(t, found, "%s has no history that schedules an activity", workflowType)
	}
}

// tamper renames the type of the first activity that the workflow scheduled.
func tamper(history *historypb.History) bool {
	for _, event := range history.GetEvents() {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			scheduled.ActivityType.Name = "roundsman.SomethingElse"
			return true
		}
	}
	return false
}

// TestRecord records the histories for `make history`.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record: `make history`")
	}
	if _, err := testsuite.FindServer(); err != nil {
		t.Fatal(errors.Join(err, errors.New("run `make build` first")))
	}
	recordAll(t)
}

// TestAnEmptyTickIsShort: groups without proposals are the most frequent, so their history must be short.
func TestAnEmptyTickIsShort(t *testing.T) {
	t.Parallel()
	for scenario, most := range map[string]int{"nothing-to-do": 12, "nothing-to-do-in-a-lane": 16} {
		history, err := replay.Load(testdata, replay.Name{Workflow: contract.JobGroupWorkflow, Version: workflows.JobGroupVersion, Scenario: scenario})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(history.GetEvents()), most, scenario)
	}
}
