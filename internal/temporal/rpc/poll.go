package rpc

import (
	"context"
	"path"
	"strings"

	"google.golang.org/grpc"
)

// PollWhenReady lets long polls wait for the connection. The SDK's pollers back off up to 10 s: the first job of a
// restarted server started 6.1 s late, with this 40 ms late (docs/adr/0004). All other calls still fail at once.
func PollWhenReady(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if strings.HasPrefix(path.Base(method), "Poll") && !strings.HasSuffix(method, "WorkflowExecutionUpdate") {
		options = append(options, grpc.WaitForReady(true))
	}
	return invoke(ctx, method, req, reply, cc, options...)
}
