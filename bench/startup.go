package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/testsuite"
)

// startup measures `roundsman dev` from exec to the header that it prints once everything is up.
// It uses the binary that `make build` left.
func startup(ctx context.Context, b *bench) error {
	root, err := testsuite.ModuleRoot()
	if err != nil {
		return err
	}
	binary := filepath.Join(root, "bin", "roundsman")
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
	_ = command.Wait() // It was interrupted; its exit code is not what is measured.
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
