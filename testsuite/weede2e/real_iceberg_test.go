package weede2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/realcluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// realIceberg names a program for tables of a table bucket in the real cluster. `make NAMESPACE.TABLE N [AGE]`
// makes a table with N snapshots of a small file each, AGE milliseconds old. `read NAMESPACE.TABLE` reads it.
// Both print an [iceberg].
const realIceberg = "ROUNDSMAN_TEST_ICEBERG"

// iceberg is the content of a table.
type iceberg struct {
	Snapshots int    `json:"snapshots"`
	Manifests int    `json:"manifests"`
	Files     int    `json:"files"`
	Rows      int    `json:"rows"`
	Sum       string `json:"sum"`
}

// TestRealIceberg: an unmodified `weed worker` behind the gateway compacts tables of many small files and
// expires the snapshots of an old table. All rows stay.
func TestRealIceberg(t *testing.T) {
	cluster := realcluster.New(t)
	filer, program, tables := cluster.Filer(), cluster.Weed(), os.Getenv(realIceberg)
	if tables == "" {
		t.Skipf("%s names no program that makes tables", realIceberg)
	}
	table := func(args ...string) (found iceberg) {
		printed, err := exec.CommandContext(t.Context(), tables, args...).Output() //nolint:gosec // the person's own
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(printed, &found), "%s", printed)
		return found
	}
	namespace := fmt.Sprintf("rt%d", time.Now().UnixNano())
	young, old := namespace+".young", namespace+".old"
	before := map[string]iceberg{young: table("make", young, "8"), old: table("make", old, "8", "10800000")}

	s := &site{Site: sites.New(t), admin: sites.FreeAddress(t), stream: sites.FreeAddress(t)}
	s.control = s.Start("server")
	s.startGateway()
	s.Program(nil, program, "worker", "-admin="+s.admin, "-id=real", "-jobType=iceberg_maintenance", "-workingDir="+filepath.Join(s.Dir, "weed"))
	s.AwaitFresh("real")
	s.Apply(fmt.Sprintf("%scluster: {masters: [%q], filers: [%q]}\njob_types:\n  iceberg:\n    handler: weed-iceberg_maintenance\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {max_runtime: 2m, execution_timeout: 1m}\n    params: {admin: {namespace_filter: %q}, worker: {snapshot_retention_hours: 1, max_snapshots_to_keep: 2}}\n",
		sites.Scaled, cluster.Master, filer, namespace))
	ref := s.Begin("iceberg")
	result := s.Result(ref)
	t.Log(s.Command("show", ref.WorkflowID))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	for name, was := range before {
		is := table("read", name)
		t.Logf("%s: %+v became %+v", name, was, is)
		assert.Equal(t, iceberg{Snapshots: is.Snapshots, Manifests: 1, Files: 1, Rows: was.Rows, Sum: was.Sum}, is, name)
		if name == old {
			assert.Less(t, is.Snapshots, was.Snapshots)
		}
	}
}
