package starter

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// UnreachableError reports that no Temporal server answers.
type UnreachableError struct {
	Address string
	Cause   error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Temporal server answers at %s (%s): start one with `roundsman dev`, "+
		"or name a running one with --address host:port or TEMPORAL_ADDRESS", e.Address, e.Why())
}

// Unwrap returns the connection's error.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Why returns the cause in a few words. gRPC's texts do not help an operator.
func (e *UnreachableError) Why() string {
	if e.Cause == nil {
		return "the cause is unknown"
	}
	text := e.Cause.Error()
	switch {
	case strings.Contains(text, "server preface") && slow(text):
		return "it took the connection and did not answer in time"
	case strings.Contains(text, "no children to pick from"):
		return "the host name cannot be resolved"
	case strings.Contains(text, "server preface"), strings.Contains(text, "broken pipe"), strings.Contains(text, "http2: frame"):
		return "it does not speak gRPC without TLS: it is another program, or it requires TLS"
	case strings.Contains(text, "connection reset by peer"):
		return "it closes the connection at once: it is another program, requires TLS, or is stopping"
	case strings.Contains(text, "authentication handshake failed"):
		_, reason, _ := strings.Cut(text, "handshake failed: ")
		return "TLS: " + strings.TrimSuffix(reason, `"`)
	case rpc.Code(e.Cause) == codes.DeadlineExceeded:
		return "it did not answer in time"
	}
	for _, layer := range []string{"failed reaching server: ", "connection error: desc = ", "transport: Error while dialing: "} {
		text = strings.Replace(text, layer, "", 1)
		if quoted, opened := strings.CutPrefix(text, `"`); opened {
			text = strings.TrimSuffix(quoted, `"`)
		}
	}
	return text
}

func slow(text string) bool {
	return strings.Contains(text, "timeout") || strings.Contains(text, "deadline exceeded") || strings.Contains(text, "closed network connection")
}

// Reachable checks whether the server answers in time, else it returns an [*UnreachableError].
func (c *Client) Reachable(ctx context.Context) error {
	if _, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return &UnreachableError{Cause: err}
	}
	return nil
}
