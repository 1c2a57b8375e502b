package gatewaye2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// calls counts the requests of a connection to the server, by method.
type calls struct {
	mu sync.Mutex
	of map[string]int
}

func (c *calls) intercept(hub *feed.Hub) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		c.mu.Lock()
		c.of[path.Base(method)]++
		c.mu.Unlock()
		return hub.Intercept(ctx, method, req, reply, cc, invoke, options...)
	}
}

func (c *calls) reset() (of map[string]int, all, visibility int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, c.of = c.of, map[string]int{}
	for method, n := range of {
		all += n
		switch method {
		case "ListSchedules", "ListWorkflowExecutions", "CountWorkflowExecutions":
			visibility += n
		}
	}
	return of, all, visibility
}

// everybody authorizes each caller as an administrator.
type everybody struct{}

func (everybody) Authenticate(*http.Request) (api.Caller, error) {
	var p access.Policy
	return api.Caller{Name: "ann", Auth: api.AuthNone, Rights: p.Grant(access.Admin, nil, nil)}, nil
}

// TestIdleViewersCostLittle: ten viewers of every topic, a thousand workers and a hundred job types. Their
// server runs no control plane, so it learns of changes only by requests. Changes by other processes still
// reach its viewers.
func TestIdleViewersCostLittle(t *testing.T) {
	t.Parallel()
	s := &site{sites.Bare(t, "version: 1\njob_types: {}\n")}
	address := sites.FreeAddress(t)
	s.serve(address, "server", "--http", address)
	hub, count := feed.New(), &calls{of: map[string]int{}}
	s.Dial(starter.Options{Intercept: count.intercept(hub)})
	var types strings.Builder
	for i := range 100 {
		types.WriteString(jobType(fmt.Sprintf("type-%03d", i), "tidy", ""))
	}
	s.apply(types.String())
	crowd(t, address, 1000, func(r *remote) { go r.pinging(t.Context(), 20*time.Second) })
	served := httptest.NewServer(api.New(api.Options{Client: s.Client, Auth: everybody{}, Live: hub}).Handler())
	t.Cleanup(served.CloseClientConnections)
	topics := []string{"job-types", "runs", "workers", "lanes", "pools", "objects", "held", "handlers", "audit", "server", "doctor"}
	var viewers []*viewer
	for range 10 {
		viewers = append(viewers, watch(t, strings.TrimPrefix(served.URL, "http://"), "", topics...))
	}
	testsuite.WaitFor(t, 2*time.Minute, "everything is shown", func() bool {
		return viewers[9].shows("workers", "far-0999") && viewers[9].shows("job-types", "type-099")
	})
	<-time.After(20 * time.Second) // The effects of the registrations and of the apply end.
	count.reset()
	const span = 30 * time.Second
	<-time.After(span)
	of, all, visibility := count.reset()
	t.Logf("idle: %.2f calls/s, %.2f of visibility: %v", float64(all)/span.Seconds(), float64(visibility)/span.Seconds(), of)
	// Separate requests for each topic were ten a second, one of them to visibility. The targets are 2 and 0.3;
	// docs/api.md has the measured figures.
	assert.Less(t, float64(all)/span.Seconds(), 4.0)
	assert.Less(t, float64(visibility)/span.Seconds(), 0.6)

	var took []time.Duration
	for i := range 4 {
		note := fmt.Sprintf("note %d", i)
		require.NoError(t, jobtypes.Of(s.Client).Pause(t.Context(), "type-042", note))
		began := time.Now()
		testsuite.WaitFor(t, 20*time.Second, "the pause is shown", func() bool { return viewers[3].shows("job-types", note) })
		took = append(took, time.Since(began).Round(time.Millisecond))
		require.NoError(t, jobtypes.Of(s.Client).Resume(t.Context(), "type-042"))
		testsuite.WaitFor(t, 20*time.Second, "its end is shown", func() bool { return !viewers[3].shows("job-types", note) })
	}
	t.Logf("changes of another's were shown after %s", took)
}
