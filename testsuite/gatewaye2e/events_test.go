package gatewaye2e

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// countVisibility counts the calls that Temporal limits to 10 a second.
func countVisibility(seen *atomic.Int64) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		switch path.Base(method) {
		case "ListSchedules", "ListWorkflowExecutions", "CountWorkflowExecutions":
			seen.Add(1)
		}
		return invoke(ctx, method, req, reply, cc, options...)
	}
}

// viewer reads a stream of events and keeps the newest of each topic.
type viewer struct {
	mu     sync.Mutex
	newest map[string]string
	kinds  []string
	id     string
	ended  chan struct{}
}

func watch(t *testing.T, address, last string, topics ...string) *viewer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/events?topic="+strings.Join(topics, "&topic="), http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Last-Event-ID", last)
	response, err := clients().Do(request) //nolint:bodyclose // the reader below closes it
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	v := &viewer{newest: map[string]string{}, ended: make(chan struct{})}
	go func() {
		defer close(v.ended)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			v.line(lines.Text())
		}
	}()
	return v
}

func (v *viewer) line(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if kind, is := strings.CutPrefix(text, "event: "); is {
		v.kinds = append(v.kinds, kind)
	}
	if id, is := strings.CutPrefix(text, "id: "); is {
		v.id = id
	}
	if data, is := strings.CutPrefix(text, "data: "); is {
		var event struct {
			Topic string          `json:"topic"`
			Data  json.RawMessage `json:"data"`
		}
		if json.Unmarshal([]byte(data), &event) == nil {
			v.newest[event.Topic] = string(event.Data)
		}
	}
}

func (v *viewer) shows(topic, text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Contains(v.newest[topic], text)
}

func (v *viewer) state() (kinds []string, id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append(kinds, v.kinds...), v.id
}

// A change by any caller reaches the viewers. A list for 200 concurrent callers meets no limit. A stop ends the
// streams.
func TestEventsReachTheirViewers(t *testing.T) {
	t.Parallel()
	var visibility atomic.Int64
	s := &site{sites.Bare(t, sites.Scaled+"job_types: {}\n")}
	address := sites.FreeAddress(t)
	served, err := app.NewHTTP(address, "ann", config.Access{})
	require.NoError(t, err)
	options := starter.Options{Intercept: countVisibility(&visibility)}
	served.Watch(&options)
	s.Dial(options)
	loaded, err := config.Load(config.Options{Files: []string{s.File()}})
	require.NoError(t, err)
	process, err := app.StartControl(t.Context(), app.ControlOptions{
		Client: s.Client, Fleet: loaded.Fleet, HTTP: served, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.apply(jobType("tidy", "tidy", ""))
	topics := []string{"job-types", "workers", "lanes", "audit"}
	viewers := []*viewer{watch(t, address, "", topics...)}
	first := viewers[0]
	testsuite.WaitFor(t, 20*time.Second, "the snapshot has the job type", func() bool { return first.shows("job-types", `"name":"tidy"`) })
	for range 9 {
		viewers = append(viewers, watch(t, address, "", topics...))
	}

	r := &remote{t: t, base: "http://" + address + "/api/v1"}
	answered, err := r.send(t.Context(), http.MethodPost, "/job-types/tidy/pause", map[string]string{"note": "disks"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answered.status)
	for _, v := range viewers {
		testsuite.WaitFor(t, 20*time.Second, "the pause is shown", func() bool { return v.shows("job-types", `"paused":true`) && v.shows("audit", "jobtype.pause") })
	}
	require.NoError(t, jobtypes.Of(s.Client).Resume(t.Context(), "tidy"))
	testsuite.WaitFor(t, 20*time.Second, "the end of the pause is shown", func() bool { return first.shows("job-types", `"paused":false`) })

	before := visibility.Load()
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			listed, err := r.send(t.Context(), http.MethodGet, "/job-types", nil)
			if assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, listed.status, listed.body)
			}
		})
	}
	group.Wait()

	assert.LessOrEqual(t, visibility.Load()-before, int64(10), "200 lists share what is fetched")

	_, id := first.state()
	resumed := watch(t, address, id, "job-types", "lanes")
	testsuite.WaitFor(t, 10*time.Second, "a second client of the same state", func() bool { return watch(t, address, "", "job-types", "lanes").gotBoth() })
	kinds, _ := resumed.state()
	assert.NotContains(t, kinds, "snapshot", "it has everything but what has changed since")

	require.NoError(t, process.Stop(t.Context()))
	<-first.ended
}

// gotBoth reports whether two snapshots arrived in the first second of the stream.
func (v *viewer) gotBoth() bool {
	select {
	case <-v.ended:
	case <-time.After(time.Second):
	}
	kinds, _ := v.state()
	return len(kinds) == 2
}
