package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/internal/edge/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	require.NoError(t, err)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "0.0.0.0:9464", "[::1]:0": "[::1]:0",
	} {
		got, err := telemetry.Address(written)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, bad := range []string{"", "x", "host:", "host:99999", "a:b:c"} {
		_, err := telemetry.Address(bad)
		assert.Error(t, err, bad)
	}
}

func TestServerShowsChecksAndMetrics(t *testing.T) {
	t.Parallel()
	told := telemetry.New("v1.2.3")
	queue := told.Handler().WithTags(map[string]string{"task_queue": "q"})
	queue.Counter("temporal_request").Inc(2)
	queue.WithTags(map[string]string{"operation": "Poll"}).Counter("temporal_request").Inc(3)
	queue.Gauge("temporal_num_pollers").Update(4)
	queue.Timer("temporal_request_latency").Record(30 * time.Millisecond)
	server, err := told.Listen(t.Context(), "0", telemetry.Checks{
		Alive: func() error { return nil }, Ready: func() error { return errors.New("not registered") },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(t.Context())) }()
	assert.True(t, strings.HasPrefix(server.Addr(), "127.0.0.1:"), "a port alone is loopback: %s", server.Addr())

	code, body := get(t, server.Addr(), "/healthz")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "ok\n", body)
	code, body = get(t, server.Addr(), "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "not registered\n", body)
	code, body = get(t, server.Addr(), "/metrics")
	assert.Equal(t, http.StatusOK, code)
	for _, line := range []string{
		`temporal_request_total{task_queue="q"} 2`,
		`temporal_request_total{operation="Poll",task_queue="q"} 3`,
		`temporal_num_pollers{task_queue="q"} 4`,
		`temporal_request_latency_seconds_count{task_queue="q"} 1`,
		`roundsman_build_info{version="v1.2.3"} 1`,
		`go_goroutines `,
	} {
		assert.Contains(t, body, line)
	}
}

func TestTakenAddressIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	ok := func() error { return nil }
	server, err := telemetry.New("v").Listen(t.Context(), "0", telemetry.Checks{Alive: ok, Ready: ok})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(t.Context())) }()
	_, err = telemetry.New("v").Listen(t.Context(), server.Addr(), telemetry.Checks{Alive: ok, Ready: ok})
	assert.ErrorContains(t, err, "--health-addr")
}

func TestTrafficKnowsPollsAndAnswers(t *testing.T) {
	t.Parallel()
	traffic := telemetry.New("v").Traffic
	call := func(method string, request any, answer error, during func()) {
		err := traffic.Intercept(t.Context(), "/service/"+method, request, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				if during != nil {
					during()
				}
				return answer
			})
		assert.Equal(t, answer, err)
	}
	poll := &workflowservice.PollActivityTaskQueueRequest{TaskQueue: &taskqueue.TaskQueue{Name: "q"}}
	call("PollActivityTaskQueue", poll, status.Error(codes.Unavailable, "away"), func() {
		open, _ := traffic.Polls("q")
		assert.Equal(t, 1, open)
	})
	open, last := traffic.Polls("q")
	assert.Zero(t, open)
	assert.True(t, last.IsZero(), "a server that is away has not answered")
	assert.True(t, traffic.LastAnswer().IsZero())

	call("RespondActivityTaskCompleted", nil, status.Error(codes.NotFound, "gone"), nil)
	assert.False(t, traffic.LastAnswer().IsZero(), "a refusal is an answer")
	call("PollActivityTaskQueue", poll, nil, nil)
	_, last = traffic.Polls("q")
	assert.False(t, last.IsZero())
}
