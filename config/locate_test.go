package config_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
)

// The connection and the job types come from the same files.
func TestLocate(t *testing.T) {
	t.Chdir(t.TempDir())
	two := config.FilesVariable + "=a.yaml" + string(os.PathListSeparator) + "b.yaml"
	assert.Empty(t, config.Locate(nil, nil))
	assert.Equal(t, []string{"a.yaml", "b.yaml"}, config.Locate(nil, []string{two}))
	assert.Equal(t, []string{"c.yaml"}, config.Locate([]string{"c.yaml"}, []string{two}))

	require.NoError(t, os.WriteFile(config.DefaultFile, []byte("version: 1\ntemporal: {address: other.example:7233}\njob_types: {}\n"), 0o600))
	files := config.Locate(nil, []string{config.FilesVariable + "="})
	assert.Equal(t, []string{config.DefaultFile}, files)
	loaded, err := config.Load(config.Options{Files: files})
	require.NoError(t, err)
	assert.Equal(t, "other.example:7233", loaded.Temporal.Address)
	assert.Equal(t, []string{"a.yaml", "b.yaml"}, config.Locate(nil, []string{two}), "the variable comes first")
}

// A faulty job type does not prevent an operator from canceling a run; a fault of the connection does.
func TestConnectionWithoutJobTypes(t *testing.T) {
	t.Parallel()
	without := func(o *config.Options) { o.WithoutJobTypes = true }
	loaded, err := loadWith("version: 1\ntemporal: {namespace: ops}\nresources: {db: 2}\njob_types: {a: {handler: nope}}\n", without)
	require.NoError(t, err)
	assert.Equal(t, "ops", loaded.Temporal.Namespace)
	assert.Equal(t, map[string]int{"db": 2}, loaded.Resources)
	assert.Empty(t, loaded.JobTypes)
	assert.Empty(t, loaded.Warnings)
	_, err = loadWith("version: 1\ntemporal: {namespce: ops}\n", without)
	require.ErrorContains(t, err, "temporal.namespce")
}
