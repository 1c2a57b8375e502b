// Command worker is a fake `weed worker`, see package fakeworker.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := fakeworker.Main(ctx, os.Args[1:], os.Stdout); err != nil && ctx.Err() == nil {
		panic(fmt.Sprint("fake weed worker: ", err)) // a program for tests
	}
}
