package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if code, is := wrapped(os.Args[1:]); is {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
