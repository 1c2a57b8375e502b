package devserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes of the binary.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main serves until SIGINT or SIGTERM and returns the exit code. A second signal during a slow stop ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, args, stdin, stdout, stderr)
}

// Run serves until ctx ends and returns the exit code. Standard output carries one ready line and nothing else.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, err := parseFlags(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, usage)
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "roundsman-devserver: %v\nSee roundsman-devserver --help.\n", err)
		return exitUsage
	case f.version:
		_, _ = fmt.Fprintln(stdout, versionLine())
		return exitOK
	}
	if f.exitOnStdinEOF {
		ctx = untilEOF(ctx, stdin)
	}
	f.options.LogOutput = stderr
	if err := serve(ctx, f.options, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "roundsman-devserver: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// A stop during the start is a clean end, too.
func serve(ctx context.Context, o Options, stdout io.Writer) error {
	s, err := Start(ctx, o)
	switch {
	case err != nil && ctx.Err() == nil:
		return err
	case err != nil:
		return nil //nolint:nilerr // told to stop while starting: what failed then is of no interest
	}
	err = s.Ready().writeLine(stdout)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-s.Lost():
		}
	}
	return errors.Join(err, s.Stop())
}

// untilEOF: a parent that holds the other end of the pipe takes its server with it, even if the parent is killed.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx
}
