// The program is a fake `weed worker`, see package fakeweed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/roundsman/roundsman/testsuite/fakeweed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := fakeweed.Main(ctx, os.Args[1:], os.Stdout); err != nil && ctx.Err() == nil {
		panic(fmt.Sprint("fake weed worker: ", err)) // a program for tests
	}
}
