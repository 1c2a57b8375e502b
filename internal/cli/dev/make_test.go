package dev

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program writes an executable shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700)) //nolint:gosec // a program
}

// tool returns the absolute path of a script in tools/.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../tools/" + name)
	require.NoError(t, err)
	return path
}

// TestMakeDevUsesAServerAtHand runs the script of `make dev` without its effects: which targets it builds, and
// which server the flags of `roundsman dev` name.
func TestMakeDevUsesAServerAtHand(t *testing.T) {
	t.Parallel()
	const newCLI, oldCLI = "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)", "temporal version 1.1.0 (Server 1.25.0, UI 2.30.3)"
	for name, tt := range map[string]struct {
		cli, address string
		built        bool
		args         string
		want         string
	}{
		"nothing at hand":                  {want: "make build; exec bin/roundsman dev"},
		"a server is named by environment": {address: "10.0.0.1:7233", args: "--once", want: "make web bin/roundsman; exec bin/roundsman dev --address 10.0.0.1:7233 --once"},
		"the environment wins over all":    {address: "x:1", built: true, cli: newCLI, want: "make web bin/roundsman; exec bin/roundsman dev --address x:1"},
		"an argument wins":                 {address: "x:1", built: true, args: "--address y:2", want: "make web bin/roundsman; exec bin/roundsman dev --address y:2"},
		"an argument with an equals sign":  {args: "--once --address=y:2", want: "make web bin/roundsman; exec bin/roundsman dev --once --address=y:2"},
		"an argument that names a CLI":     {args: "--temporal-cli /opt/temporal", want: "make web bin/roundsman; exec bin/roundsman dev --temporal-cli /opt/temporal"},
		"a CLI on PATH":                    {cli: newCLI, args: "--once", want: "make web bin/roundsman; exec bin/roundsman dev --temporal-cli temporal --once"},
		"a newer major version":            {cli: "temporal version 2.0.0 (Server 2.1.0, UI 3.0.0)", want: "make web bin/roundsman; exec bin/roundsman dev --temporal-cli temporal"},
		"a CLI that is too old":            {cli: oldCLI, want: "make build; exec bin/roundsman dev"},
		"something else called temporal":   {cli: "usage: temporal FILE", want: "make build; exec bin/roundsman dev"},
		"our server is built":              {cli: newCLI, built: true, want: "make build; exec bin/roundsman dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.built {
				program(t, filepath.Join(dir, "bin", "roundsman-devserver"), "exit 0\n")
			}
			if tt.cli != "" {
				program(t, filepath.Join(dir, "path", "temporal"), "echo '"+tt.cli+"'\n")
			}
			run := exec.CommandContext(t.Context(), "sh", append([]string{tool(t, "dev.sh")}, strings.Fields(tt.args)...)...) //nolint:gosec // our own script
			run.Dir = dir
			run.Env = []string{"DRY_RUN=1", "PATH=" + filepath.Join(dir, "path") + ":/usr/bin:/bin", "TEMPORAL_ADDRESS=" + tt.address}
			out, err := run.Output()
			require.NoError(t, err)
			assert.Equal(t, tt.want, strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "; "))
		})
	}
}

// TestMakeDevRunsItsScript covers the variables that the Makefile passes on.
func TestMakeDevRunsItsScript(t *testing.T) {
	t.Parallel()
	run := exec.CommandContext(t.Context(), "make", "-C", "../../..", "--no-print-directory", "dev", "TEMPORAL_ADDRESS=x:1", "ARGS=--once --json")
	run.Env = append(os.Environ(), "DRY_RUN=1", "MAKEFLAGS=", "MAKELEVEL=0")
	out, err := run.Output()
	require.NoError(t, err)
	assert.Equal(t, "make web bin/roundsman\nexec bin/roundsman dev --address x:1 --once --json\n", string(out))
}

// gobuild runs the build script with a script in place of the go command.
func gobuild(t *testing.T, build, mode string) (output string, code int) {
	t.Helper()
	dir := t.TempDir()
	program(t, filepath.Join(dir, "go"), `
case $1 in
list) i=0; while [ $i -lt 16 ]; do echo example.org/p$i; i=$((i + 1)); done ;;
build) `+build+` ;;
esac
`)
	run := exec.CommandContext(t.Context(), "sh", tool(t, "gobuild.sh"), "thing", "-o", "x", ".") //nolint:gosec // our own script
	run.Dir = dir
	run.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "EVERY=0", "PROGRESS="+mode, "TMPDIR="+dir)
	var stderr bytes.Buffer
	run.Stderr = &stderr
	if err := run.Run(); err != nil {
		code = run.ProcessState.ExitCode()
	}
	return stderr.String(), code
}

// waitForList delays the script until the number of packages is known.
const waitForList = `until ls $TMPDIR/*/stale >/dev/null 2>&1; do :; done
i=0; while [ $i -lt 16 ]; do echo example.org/p$i; i=$((i + 1)); done`

func TestBuildShowsItsProgress(t *testing.T) {
	t.Parallel()
	output, code := gobuild(t, waitForList, "lines")
	assert.Zero(t, code)
	lines := strings.Split(strings.TrimSpace(output), "\n")
	require.Len(t, lines, 3, output)
	assert.Regexp(t, `^thing: package 8 of 16, about \d+:\d\d left$`, lines[0])
	assert.Equal(t, "thing: package 16 of 16, then linking", lines[1])
	assert.Regexp(t, `^thing: built in \d+:\d\d$`, lines[2])

	output, code = gobuild(t, waitForList, "terminal")
	assert.Zero(t, code)
	assert.Regexp(t, `^\r\x1b\[Kthing: package 8 of 16, about \d+:\d\d left\r\x1b\[Kthing: package 16 of 16, then linking\r\x1b\[Kthing: built in \d+:\d\d\n$`, output)
}

func TestBuildThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	output, code := gobuild(t, waitForList+`; echo '# example.org/p15'; echo './p.go:1:2: undefined: x'; exit 3`, "lines")
	assert.Equal(t, 3, code)
	assert.Contains(t, output, "\n# example.org/p15\n./p.go:1:2: undefined: x\n")
	assert.Contains(t, output, "thing: failed after ")
}
