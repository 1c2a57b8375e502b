package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stub is a program of PATH: a make whose gates and tests do not end, and an apt-get that fails.
const stub = `#!/bin/sh
case "$(basename "$0") $1" in
"make check" | "make test") echo $$ >"$STUBS/$1.new"; mv "$STUBS/$1.new" "$STUBS/$1"; exec sleep 3600 ;;
"apt-get "*) exit 1 ;;
esac
`

// TestARunOfCIEndsBeforeItsEnd: Ctrl-C reaches the process group of a shell, and TERM only the shell. Both end the gates and the tests.
func TestARunOfCIEndsBeforeItsEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: no bash")
	}
	for name, c := range map[string]struct {
		signal syscall.Signal
		group  bool
		code   int
	}{"Ctrl-C": {syscall.SIGINT, true, 130}, "TERM": {syscall.SIGTERM, false, 143}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stubs := t.TempDir()
			for _, program := range []string{"make", "apt-get"} {
				require.NoError(t, os.WriteFile(filepath.Join(stubs, program), []byte(stub), 0o700)) //nolint:gosec // a program
			}
			run := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "..", ".ci", "run"))
			run.Env = append(os.Environ(), "STUBS="+stubs, "PATH="+stubs+":"+os.Getenv("PATH"))
			run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			said, err := os.Create(filepath.Join(stubs, "output"))
			require.NoError(t, err)
			defer func() { _ = said.Close() }()
			run.Stdout, run.Stderr = said, said // A file, so that Wait ends with the shell even if a program that is left has it open.
			require.NoError(t, run.Start())
			var ended error
			done := make(chan struct{})
			go func() {
				ended = run.Wait()
				close(done)
			}()
			begun := map[string]int{}
			for _, step := range []string{"check", "test"} {
				begun[step] = pidIn(t, filepath.Join(stubs, step), done)
			}
			target := run.Process.Pid
			if c.group {
				target = -target
			}
			require.NoError(t, syscall.Kill(target, c.signal))
			var status *exec.ExitError
			<-done
			require.ErrorAs(t, ended, &status)
			output, _ := os.ReadFile(said.Name())
			assert.Equal(t, c.code, status.ExitCode(), "%s", output)
			for step, pid := range begun {
				assert.ErrorIs(t, syscall.Kill(pid, syscall.SIGKILL), syscall.ESRCH, "make %s was left", step)
			}
		})
	}
}

// pidIn waits for a process id in a file.
func pidIn(t *testing.T, file string, done <-chan struct{}) int {
	t.Helper()
	for {
		text, err := os.ReadFile(file)
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			return pid
		}
		select {
		case <-done:
			t.Fatalf("it ended before %s", filepath.Base(file))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
