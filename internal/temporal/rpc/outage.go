package rpc

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// slowCall is the duration from which a call counts as one to a server that is away.
const slowCall = 2 * time.Second

// Outages records when the server failed last, as this process sees it. Create it with [NewOutages].
type Outages struct{ last atomic.Int64 }

// Server is the view of this process, since its start.
var Server = NewOutages(time.Now()) //nolint:gochecknoglobals // one server for all clients of a process

// NewOutages returns a view without knowledge of the time before now.
func NewOutages(now time.Time) *Outages {
	o := &Outages{}
	o.last.Store(now.UnixNano())
	return o
}

// Last returns the end of the last failure.
func (o *Outages) Last() time.Time { return time.Unix(0, o.last.Load()) }

// Observe is an interceptor that records failures of the server.
func (o *Outages) Observe(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	began := time.Now()
	err := invoke(ctx, method, req, reply, cc, options...)
	if isAway(method, Code(err), time.Since(began)) {
		o.last.Store(time.Now().UnixNano())
	}
	return err
}

// Calls that wait by their nature show an absence only by an error.
func isAway(method string, code codes.Code, took time.Duration) bool {
	name := path.Base(method)
	brief := strings.HasPrefix(name, "Respond") || strings.HasPrefix(name, "Record")
	return code == codes.Unavailable || code == codes.ResourceExhausted || brief && (code == codes.DeadlineExceeded || took > slowCall)
}
