package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const dagOfHosts = "version: 1\nname: rounds\ndeadline: 2h\nparams: {hosts: [a], level: 3}\ntasks:\n" +
	"  - {id: visit, for_each: '{{.Params.hosts}}', noop: true}\n  - {id: below, dag: sub.yaml}\n"

const dagBelow = "version: 1\nname: below\ntasks:\n  - {id: a, noop: true}\n"

func loadTree(t *testing.T, configuration string, files map[string]string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file := filepath.Join(dir, "r.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\njob_types:\n  nightly:\n    schedule: {every: 24h}\n"+configuration), 0o600))
	return Load(Options{Files: []string{file}})
}

func TestDAGTravelsWithItsSubDAGs(t *testing.T) {
	t.Parallel()
	loaded, err := loadTree(t, "    dag: d/nightly.yaml\n    policy: {max_runtime: 3h}\n    params: {hosts: [x, y]}\n", map[string]string{"d/nightly.yaml": dagOfHosts, "d/sub.yaml": dagBelow})
	require.NoError(t, err)
	assert.Empty(t, loaded.Warnings)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, &contract.DAGSource{Name: "rounds", File: "d/nightly.yaml", Text: dagOfHosts, Files: map[string]string{"d/sub.yaml": dagBelow}}, specs[0].DAG)
	assert.Equal(t, jobtype.Duration(3*time.Hour), specs[0].Policy.ExecutionTimeout, "the time of the group")
	printed, err := loaded.Format("yaml")
	require.NoError(t, err)
	assert.Contains(t, string(printed), "dag: d/nightly.yaml")
	assert.NotContains(t, string(printed), "handler:")
}

func TestFaultsOfADAG(t *testing.T) {
	t.Parallel()
	for want, written := range map[string][2]string{
		"r.yaml:5:10: job_types.nightly.dag: cannot be read":                                              {"    dag: none.yaml\n"},
		"name a file at or below":                                                                         {"    dag: ../up.yaml\n"},
		"r.yaml:6:5: job_types.nightly.execute: has no meaning in a job type with dag":                    {"    dag: n.yaml\n    execute: {command: [x]}\n"},
		"r.yaml:6:5: job_types.nightly.handler: has no meaning":                                           {"    dag: n.yaml\n    handler: command\n"},
		`r.yaml:6:14: job_types.nightly.params.host: DAG rounds has no such param; did you mean "hosts"?`: {"    dag: n.yaml\n    params: {host: [x]}\n"},
		"job_types.nightly.params.level: it is a list, but the spec declares a number":                    {"    dag: n.yaml\n    params: {level: [x]}\n"},
		"n.yaml:3:25: job_types.nightly.dag: task \"a\" needs \"b\", which is not a task":                 {"    dag: n.yaml\n", "version: 1\nname: x\ntasks: [{id: a, needs: [b], noop: true}]\n"},
		"job_types.nightly.handler: is missing; dag names the file of a DAG instead":                      {""},
		"r.yaml:5:10: job_types.nightly.dag: is empty: name the file of the DAG":                          {"    dag: ''\n"},
		"has more than 524288 bytes, which a job type may have":                                           {"    dag: n.yaml\n", dagBelow + "#" + string(make([]byte, 600<<10))},
		"task \"visit\": param hosts is an empty list; the items must be a list with at least one entry":  {"    dag: n.yaml\n    params: {hosts: []}\n"},
	} {
		text := written[1]
		if text == "" {
			text = dagOfHosts
		}
		_, err := loadTree(t, written[0], map[string]string{"n.yaml": text, "sub.yaml": dagBelow})
		assert.ErrorContains(t, err, want)
	}
}

// A configuration from a network cannot read files of this machine.
func TestDAGOfASourceIsNotRead(t *testing.T) {
	t.Parallel()
	_, err := Load(Options{Sources: []Source{{Name: "sent", Data: []byte("version: 1\njob_types: {n: {dag: /etc/passwd, schedule: {every: 1h}}}\n")}}})
	assert.ErrorContains(t, err, "sent:2:22: job_types.n.dag: files cannot be read here")
}

func TestOddSettingsOfADAG(t *testing.T) {
	t.Parallel()
	loaded, err := loadTree(t, "    dag: n.yaml\n    policy: {routing: worker, max_runtime: 1h}\n", map[string]string{"n.yaml": dagOfHosts, "sub.yaml": dagBelow})
	require.NoError(t, err)
	require.Len(t, loaded.Warnings, 2)
	assert.Contains(t, loaded.Warnings[0].String(), "the deadline of rounds, 2h, is longer than policy.execution_timeout, 1h, which ends it first")
	assert.Contains(t, loaded.Warnings[1].String(), "policy.routing: has no effect in a job type with dag: set it on the tasks")
}
