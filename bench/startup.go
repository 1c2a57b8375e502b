package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/testsuite"
)

// builtBinary returns the binary of `make build` and the module's root.
func builtBinary() (binary, root string, err error) {
	root, err = testsuite.ModuleRoot()
	return filepath.Join(root, "bin", "roundsman"), root, err
}

// dagDev measures `roundsman start --dev` of 100 tasks, 10 at a time, from exec to exit.
func dagDev(ctx context.Context, b *bench) error {
	binary, _, err := builtBinary()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "roundsman-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "hundred.yaml")
	var spec strings.Builder
	spec.WriteString("version: 1\nname: hundred\nconcurrency: 10\ntasks:\n")
	for i := range 100 {
		fmt.Fprintf(&spec, "  - {id: t%d, command: [\"true\"]}\n", i)
	}
	if err := os.WriteFile(file, []byte(spec.String()), 0o600); err != nil {
		return err
	}
	var seconds []float64
	for rep := range b.reps + 1 {
		started := time.Now()
		if output, err := exec.CommandContext(ctx, binary, "start", "--dev", file).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		if rep > 0 {
			seconds = append(seconds, time.Since(started).Seconds())
		}
	}
	return b.values("dag_dev_100", 100, "s", seconds, nil)
}

// startup measures `roundsman dev` from exec to its header, which it prints when everything is running.
func startup(ctx context.Context, b *bench) error {
	binary, root, err := builtBinary()
	if err != nil {
		return err
	}
	var seconds []float64
	for rep := range b.reps + 1 {
		took, err := startOnce(ctx, binary, root)
		if err != nil {
			return err
		}
		if rep > 0 {
			seconds = append(seconds, took)
		}
	}
	return b.values("startup_warm", 1, "s", seconds, nil)
}

func startOnce(ctx context.Context, binary, dir string) (float64, error) {
	data, err := os.MkdirTemp("", "roundsman-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(data) }()
	command := exec.CommandContext(ctx, binary, "dev", "--port", "0", "--ui-port", "0", "--data-dir", data)
	command.Dir = dir
	output, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	started := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	took, err := awaitLine(output, started, "workers")
	err = errors.Join(err, command.Process.Signal(syscall.SIGINT))
	_ = command.Wait() // It was interrupted, and its exit code does not matter.
	return took, err
}

func awaitLine(output interface{ Read([]byte) (int, error) }, started time.Time, text string) (float64, error) {
	scanner := bufio.NewScanner(output)
	for scanner.Scan() {
		if strings.Contains(strings.ToLower(scanner.Text()), strings.ToLower(text)) {
			return time.Since(started).Seconds(), nil
		}
	}
	return 0, errors.New("`roundsman dev` ended before it was ready")
}
