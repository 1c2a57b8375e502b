package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// allStacks is the level of pprof that prints as a crash does.
const allStacks = 2

// stacksOnQuit writes the stacks of all goroutines at SIGQUIT. A second one ends the process at once.
func stacksOnQuit(ctx context.Context, w io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		select {
		case <-quit:
			signal.Stop(quit)
			fmt.Fprintln(w, "SIGQUIT: the stacks of all goroutines; then the command ends in order")
			_ = pprof.Lookup("goroutine").WriteTo(w, allStacks) // Without them it ends all the same.
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(quit)
		cancel()
	}
}
