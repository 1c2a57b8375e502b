package workers

import (
	"context"
	"sync"
)

// loops runs functions until their end. The zero value runs none.
type loops struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// begin runs functions. They survive the end of ctx.
func (l *loops) begin(ctx context.Context, run ...func(context.Context)) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range run {
		l.running.Go(func() { one(ctx) })
	}
}

// end cancels the functions and waits for them.
func (l *loops) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.running.Wait()
}
