package jobtypes

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// answersWithin is the silence after which a server is away and not busy.
	answersWithin = time.Minute
	// busyRepeats bounds the repetitions of one call. Each lasts 20 s, see [rpc.Retry].
	busyRepeats = 5
)

// patience repeats the calls of one plan or one apply to a busy server: a hundred new Schedules at once take a server longer
// than [rpc.Retry] waits. A nil patience repeats nothing.
type patience struct{ answered atomic.Int64 }

func newPatience() *patience {
	p := &patience{}
	p.note()
	return p
}

func (p *patience) note() { p.answered.Store(time.Now().UnixNano()) }

// repeat calls call again if the server did not answer it in time, and answered another call within the last minute. The call
// must be a read, or carry an id against a second effect.
func (p *patience) repeat(ctx context.Context, call func() error) error {
	err := call()
	for left := busyRepeats; p != nil && left > 0 && ctx.Err() == nil && isBusy(err) && p.answers(); left-- {
		err = call()
	}
	if p != nil && !isBusy(err) && rpc.Code(err) != codes.Unavailable {
		p.note()
	}
	return err
}

func (p *patience) answers() bool { return time.Since(time.Unix(0, p.answered.Load())) < answersWithin }

func isBusy(err error) bool {
	code := rpc.Code(err)
	return code == codes.DeadlineExceeded || code == codes.ResourceExhausted || rpc.NotReady(err)
}
