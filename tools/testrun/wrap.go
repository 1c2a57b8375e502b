package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// go test also starts test binaries (-exec) and tools (-toolexec) through this program.
const (
	measureCommand = "measure"
	toolCommand    = "tool"
)

// linksVariable is the environment variable with the directory of kept test binaries.
const linksVariable = "ROUNDSMAN_TESTRUN_LINKS"

// usedMark begins the line with the CPU seconds of a test binary.
const usedMark = "testrun: CPU seconds "

// wrapped runs a command line of go test.
func wrapped(args []string) (code int, is bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[0] {
	case measureCommand:
		return measure(args[1:], os.Stdout), true
	case toolCommand:
		return tool(args[1], args[2:], os.Getenv(linksVariable)), true
	}
	return 0, false
}

// wrap returns the flags of go test for this program, and its environment. Without a directory for caches no test binary is kept.
func wrap() (flags, environ []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	flags = []string{fmt.Sprintf("-exec='%s' %s", self, measureCommand), fmt.Sprintf("-toolexec='%s' %s", self, toolCommand)}
	environ = os.Environ()
	if caches, err := os.UserCacheDir(); err == nil && os.Getenv(linksVariable) == "" {
		environ = append(environ, linksVariable+"="+filepath.Join(caches, "roundsman-tests"))
	}
	return flags, environ, nil
}

// measure runs a test binary and prints its CPU time, with that of all awaited processes.
func measure(line []string, out io.Writer) int {
	cmd, code := through(line)
	if cmd.ProcessState != nil {
		fmt.Fprintf(out, "%s%.2f\n", usedMark, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	}
	return code
}

// tool runs a tool of go. It keeps the last test binary of each package: go links test binaries in each run, although -buildid is a
// hash of all their parts.
func tool(path string, args []string, links string) int {
	made, id := made(args)
	if filepath.Base(path) != "link" || !strings.HasSuffix(made, ".test") || id == "" || links == "" {
		_, code := through(append([]string{path}, args...))
		return code
	}
	kept := filepath.Join(links, fmt.Sprintf("%x", sha256.Sum256([]byte(os.Getenv("TOOLEXEC_IMPORTPATH")+strings.Join(flagsOf(args), " ")))))
	name := filepath.Join(kept, fmt.Sprintf("%x", sha256.Sum256([]byte(id))))
	if copyFile(name, made) == nil {
		return 0
	}
	_, code := through(append([]string{path}, args...))
	if code == 0 {
		// Without a place for it the next run links again.
		_ = os.RemoveAll(kept)
		_ = errors.Join(os.MkdirAll(kept, 0o700), copyFile(made, name))
	}
	return code
}

// made returns the linker's output file and its build id.
func made(args []string) (file, id string) {
	for i, arg := range args {
		if arg == "-o" && i+1 < len(args) {
			file = args[i+1]
		}
		if found, is := strings.CutPrefix(arg, "-buildid="); is {
			id = found
		}
	}
	return file, id
}

// flagsOf returns the flags with a binary of their own, such as -race.
func flagsOf(args []string) (flags []string) {
	for _, arg := range args {
		if arg == "-race" || arg == "-s" || arg == "-w" {
			flags = append(flags, arg)
		}
	}
	return flags
}

// copyFile makes an executable copy, whole or not at all.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.CreateTemp(filepath.Dir(to), "copy-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}

// through runs a command with the input, output and signals of this process. The exit code of a killed process is that of a shell.
func through(line []string) (*exec.Cmd, int) {
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // it ends by signals
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return cmd, 2
	}
	go func() {
		for received := range signals {
			_ = cmd.Process.Signal(received)
		}
	}()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return cmd, code
	}
	return cmd, 128
}
