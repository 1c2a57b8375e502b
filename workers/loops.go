package workers

import (
	"context"
	"sync"
)

type loops struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// begin runs functions that survive the end of ctx.
func (l *loops) begin(ctx context.Context, run ...func(context.Context)) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, one := range run {
		l.running.Go(func() { one(ctx) })
	}
}

func (l *loops) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.running.Wait()
}
