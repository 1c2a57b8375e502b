package jobtypes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

// weedHandlers are the handlers of a worker with all seven job types.
func weedHandlers(t *testing.T) []jobtype.Descriptor {
	t.Helper()
	var all []jobtype.Descriptor
	for _, name := range fakeworker.JobTypes() {
		d, err := translate.Descriptor(&pb.JobTypeCapability{JobType: name, CanDetect: true, CanExecute: true}, fakeworker.Descriptor(name))
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

// TestWhatIsImportedIsValid: the forms accept the printed configuration unchanged.
func TestWhatIsImportedIsValid(t *testing.T) {
	t.Parallel()
	handlers, err := choose(append(weedHandlers(t), jobtype.Descriptor{Name: "command"}), nil)
	require.NoError(t, err)
	require.Len(t, handlers, 7)
	document, err := imported(handlers)
	require.NoError(t, err)
	written, err := yaml.Marshal(document)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "weed.yaml")
	require.NoError(t, os.WriteFile(file, written, 0o600))
	loaded, err := config.Load(config.Options{Files: []string{file}, Handlers: handlers})
	require.NoError(t, err, string(written))
	vacuum := loaded.JobTypes["vacuum"]
	assert.Equal(t, "weed-vacuum", vacuum.Handler)
	assert.True(t, vacuum.Enabled)
	assert.Equal(t, 16, vacuum.Policy.GlobalExecutionConcurrency)
	assert.JSONEq(t, `{"admin":{"collection_filter":"","data_center_filter":"","node_filter":"","rack_filter":"","volume_state":"ALL"},"worker":{"garbage_threshold":0.3}}`, string(vacuum.Params))
	assert.False(t, loaded.JobTypes["iceberg_maintenance"].Enabled, "as the worker has it")
	assert.Empty(t, loaded.Warnings)
	lanes := map[string]string{}
	for name, declared := range loaded.JobTypes {
		lanes[name] = declared.Lane
	}
	assert.Equal(t, map[string]string{
		"admin_script": "seaweedfs", "ec_balance": "seaweedfs", "erasure_coding": "seaweedfs", "vacuum": "seaweedfs", "volume_balance": "seaweedfs",
		"iceberg_maintenance": "", "s3_lifecycle": "",
	}, lanes, "those that weed admin does one at a time")
	assert.True(t, loaded.Lanes["seaweedfs"].Exclusive)
	assert.Contains(t, string(written), "0 to 1\n")
}

// TestWhatIsImportedTellsTheForm: comments hold titles, help and limits; hidden fields are left out.
func TestWhatIsImportedTellsTheForm(t *testing.T) {
	t.Parallel()
	document, err := imported(weedHandlers(t))
	require.NoError(t, err)
	written, err := yaml.Marshal(document)
	require.NoError(t, err)
	for _, comment := range []string{
		"# garbage threshold; Sets the garbage threshold.; 0 to 1\n",
		"# max commit retries; Sets the max commit retries.; 1 to 20\n",
		"# volume state; Sets the volume state.; one of [ALL ACTIVE FULL]\n",
		"# min server count; Sets the min server count.; at least 2\n",
	} {
		assert.Contains(t, string(written), comment)
	}
	assert.NotContains(t, string(written), "min_volume_age_seconds")
	assert.NotContains(t, string(written), "script_name")
}

// TestTheRulesOfTheFormsHold: for each job type, a value that its form refuses is refused with its line.
func TestTheRulesOfTheFormsHold(t *testing.T) {
	t.Parallel()
	handlers := weedHandlers(t)
	document, err := imported(handlers)
	require.NoError(t, err)
	written, err := yaml.Marshal(document)
	require.NoError(t, err)
	for jobType, wrong := range map[string][2]string{
		"vacuum":              {"garbage_threshold: 0.3", "garbage_threshold: 7.5"},
		"volume_balance":      {"max_concurrent_moves: 5", "max_concurrent_moves: 51"},
		"erasure_coding":      {"min_size_mb: 30", "min_size_mb: 0"},
		"ec_balance":          {"shard_replica_placement: \"\"", "shard_placement: \"\""},
		"admin_script":        {"run_interval_minutes: 17", "run_interval_minutes: often"},
		"iceberg_maintenance": {"rewrite_strategy: \"binpack\"", "rewrite_strategy: fast"},
		"s3_lifecycle":        {"cluster_deletes_per_second: 0", "cluster_deletes_per_second: -1"},
	} {
		before, after, found := strings.Cut(string(written), wrong[0])
		require.True(t, found, "%s: %s", jobType, wrong[0])
		file := filepath.Join(t.TempDir(), "weed.yaml")
		require.NoError(t, os.WriteFile(file, []byte(before+wrong[1]+after), 0o600))
		_, err := config.Load(config.Options{Files: []string{file}, Handlers: handlers})
		line := strings.Count(before, "\n") + 1
		require.ErrorContains(t, err, fmt.Sprintf("weed.yaml:%d:", line), jobType)
		key, _, _ := strings.Cut(wrong[1], ":")
		require.ErrorContains(t, err, key, jobType)
	}
}

func TestImportNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := choose(nil, nil)
	require.ErrorContains(t, err, "gateway seaweedfs")
	_, err = choose(weedHandlers(t), []string{"weed-vaccum"})
	require.ErrorContains(t, err, "weed-vaccum")
}
