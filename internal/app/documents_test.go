package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/app"
)

var root = filepath.Join("..", "..")

type example struct {
	name string
	text []byte
}

var yamlBlock = regexp.MustCompile("(?ms)^```ya?ml\n(.*?)^```")

// examples returns the YAML blocks of all documents, and the files that the documents refer to.
func examples(t *testing.T) []example {
	t.Helper()
	var found []example
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != root && strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		document := strings.HasSuffix(path, ".md")
		if !document && !(strings.HasSuffix(path, ".yaml") && strings.HasPrefix(path, filepath.Join(root, "examples"))) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !document {
			found = append(found, example{path, text})
			return nil
		}
		for _, block := range yamlBlock.FindAllSubmatch(text, -1) {
			found = append(found, example{path, block[1]})
		}
		return nil
	}))
	return found
}

// foreign reports whether a configuration needs a binary with its own handlers.
func foreign(name string) bool { return strings.HasPrefix(name, filepath.Join(root, "examples")) }

// Examples copied from a document work. A block may omit the line with the version.
func TestEveryExampleIsValid(t *testing.T) {
	t.Parallel()
	descriptors, validators, err := app.Descriptors(nil)
	require.NoError(t, err)
	found := examples(t)
	dags := 0
	for _, example := range found {
		if !bytes.Contains(example.text, []byte("version:")) {
			example.text = append([]byte("version: 1\n"), example.text...)
		}
		if regexp.MustCompile(`(?m)^tasks:`).Match(example.text) {
			dags++
			loaded, err := spec.Load(filepath.Base(example.name), example.text)
			require.NoError(t, err, string(example.text))
			files, ok := os.DirFS(filepath.Dir(example.name)).(spec.Files)
			require.True(t, ok)
			_, err = spec.Compile(loaded, files)
			require.NoError(t, err, string(example.text))
			continue
		}
		dir := filepath.Join(root, "examples")
		if strings.HasPrefix(example.name, dir) {
			dir = filepath.Dir(example.name)
		}
		loaded, err := config.Load(config.Options{
			Sources:  []config.Source{{Name: example.name, Data: example.text, Dir: dir}},
			Handlers: descriptors, Validators: validators, AllowUnregistered: foreign(example.name), WithoutJobTypes: !regexp.MustCompile(`(?m)^job_types:`).Match(example.text),
		})
		require.NoError(t, err, string(example.text))
		if !foreign(example.name) {
			assert.Empty(t, loaded.Warnings, string(example.text))
		}
	}
	assert.GreaterOrEqual(t, len(found), 10)
	assert.GreaterOrEqual(t, dags, 2)
}
