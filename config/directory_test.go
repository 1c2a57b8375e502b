package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestADirectoryIsAllItsFiles(t *testing.T) {
	t.Parallel()
	const job = ": {handler: h, schedule: {every: 1h}}\n"
	dir := writeFiles(t, map[string]string{
		"20-b.yml":         "version: 1\njob_types:\n  b" + job,
		"10-a.yaml":        "version: 1\njob_types:\n  a" + job + "  night: {schedule: {every: 1d}, dag: dags/night.yaml}\n",
		".hidden.yaml":     "no: configuration",
		"10-a.yaml~":       "no: configuration",
		"README.md":        "no configuration",
		"dags/night.yaml":  "version: 1\nname: night\ntasks: [{id: a, noop: true}]\n",
		"deeper/even.yaml": "no: configuration",
	})
	loaded, err := config.Load(config.Options{Files: []string{dir}, AllowUnregistered: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "night"}, slices.Sorted(maps.Keys(loaded.JobTypes)))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "30-twice.yaml"), []byte("version: 1\njob_types:\n  a"+job), 0o600))
	_, err = config.Load(config.Options{Files: []string{dir}, AllowUnregistered: true})
	require.ErrorContains(t, err, filepath.Join(dir, "30-twice.yaml")+":3:3: job_types.a: ")
	require.ErrorContains(t, err, filepath.Join(dir, "10-a.yaml")+":3")
}

func TestADirectoryWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"README": "nothing"})
	_, err := config.Load(config.Options{Files: []string{dir}})
	require.ErrorContains(t, err, dir+": the directory has no file *.yaml or *.yml")

	dir = writeFiles(t, map[string]string{"night.yaml": "version: 1\nname: night\ntasks: [{id: a, noop: true}]\n"})
	_, err = config.Load(config.Options{Files: []string{dir}})
	require.EqualError(t, err, filepath.Join(dir, "night.yaml")+":3:1: tasks: this is a DAG file: name it with `dag:` in a job type, check it with `roundsman validate FILE`")
}
