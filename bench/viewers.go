package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Ten and 500 viewers of a console's topics, with 100 job types.
const (
	childViewed  = "viewed"
	fewViewers   = 10
	manyViewers  = 500
	viewedTypes  = 100
	viewersWatch = 20 * time.Second
	viewedTopics = "topic=job-types&topic=runs&topic=workers&topic=lanes&topic=pools&topic=objects&topic=held&topic=audit&topic=server"
	shownWithin  = 30 * time.Second
)

// used is the usage of the serving process so far.
type used struct {
	Calls, Visibility int64
	RSS               float64
}

// viewers measures the cost of 500 idle viewers for a process that serves the API, compared to ten. It also
// measures the time until a change reaches all viewers, for a change by this process and by another one. The
// process has no control plane.
func viewers(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 2, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.applyTypes(ctx); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	if err := c.startRole(ctx, b, childViewed, address); err != nil {
		return err
	}
	all := &audience{base: "http://" + address}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	few, before, err := all.cost(ctx, fewViewers)
	if err != nil {
		return err
	}
	many, after, err := all.cost(ctx, manyViewers)
	if err != nil {
		return err
	}
	if err := b.values("viewers_idle_calls", manyViewers, "calls/s", []float64{many.calls}, map[string]float64{
		"ten": few.calls, "visibility": many.visibility, "ten_visibility": few.visibility, "rss_delta_mb": figure.Round((after.RSS - before.RSS) / (1 << 20)),
	}); err != nil {
		return err
	}
	own, err := all.changes(ctx, b.reps, func(on bool, note string) error { return all.post(ctx, on, note) })
	if err != nil {
		return err
	}
	types := jobtypes.Of(c.client)
	others, err := all.changes(ctx, b.reps, func(on bool, note string) error {
		if on {
			return types.Pause(ctx, "type-042", note)
		}
		return types.Resume(ctx, "type-042")
	})
	if err != nil {
		return err
	}
	if err := b.values("viewers_own_change", manyViewers, "s", own, map[string]float64{"p95": figure.Round(figure.Percentile(own, 0.95)), "max": slices.Max(own)}); err != nil {
		return err
	}
	return b.values("viewers_change_of_others", manyViewers, "s", others, map[string]float64{"p95": figure.Round(figure.Percentile(others, 0.95)), "max": slices.Max(others)})
}

func (c *cluster) applyTypes(ctx context.Context) error {
	text := "version: 1\njob_types:\n"
	for i := range viewedTypes {
		text += fmt.Sprintf("  type-%03d:\n    handler: tidy\n    schedule: {every: 365d, first_run: scheduled}\n", i)
	}
	_, err := c.apply(ctx, "viewers", text)
	return err
}

type audience struct {
	base string
	// note is the text that the viewers wait for; seen receives when a viewer has it.
	note   atomic.Pointer[string]
	seen   chan time.Time
	count  int
	client http.Client
	group  sync.WaitGroup
}

type rate struct{ calls, visibility float64 }

// cost adds viewers up to n and measures their cost without changes.
func (a *audience) cost(ctx context.Context, n int) (rate, used, error) {
	nothing := ""
	a.note.CompareAndSwap(nil, &nothing)
	a.seen = make(chan time.Time, 100*manyViewers)
	for ; a.count < n; a.count++ {
		if err := a.view(ctx); err != nil {
			return rate{}, used{}, err
		}
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return rate{}, used{}, err
	}
	began, err := a.usage(ctx)
	if err != nil {
		return rate{}, used{}, err
	}
	if err := pause(ctx, viewersWatch); err != nil {
		return rate{}, used{}, err
	}
	ended, err := a.usage(ctx)
	per := func(n int64) float64 { return figure.Round(float64(n) / viewersWatch.Seconds()) }
	return rate{per(ended.Calls - began.Calls), per(ended.Visibility - began.Visibility)}, ended, err
}

func (a *audience) usage(ctx context.Context) (so used, err error) {
	text, err := a.get(ctx, "/usage")
	if err != nil {
		return so, err
	}
	defer func() { _ = text.Close() }()
	return so, json.NewDecoder(text).Decode(&so)
}

// get repeats a request until the child answers.
func (a *audience) get(ctx context.Context, from string) (io.ReadCloser, error) {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+from, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := a.client.Do(request)
		if err == nil && response.StatusCode == http.StatusOK {
			return response.Body, nil
		}
		if err == nil {
			_ = response.Body.Close()
			return nil, fmt.Errorf("%s: %s", from, response.Status)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// view adds a viewer, which reports when the picture of the job types has the note.
func (a *audience) view(ctx context.Context) error {
	stream, err := a.get(ctx, api.Prefix+"/events?"+viewedTopics)
	if err != nil {
		return err
	}
	a.group.Go(func() {
		defer func() { _ = stream.Close() }()
		last := ""
		lines := bufio.NewReaderSize(stream, 1<<20)
		for {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				return // A line too long for the buffer ends the viewer, and changes then time out.
			}
			if note := *a.note.Load(); note != last && bytes.HasPrefix(line, []byte(`data: {"topic":"job-types"`)) && bytes.Contains(line, []byte(note)) {
				last = note
				a.seen <- time.Now()
			}
		}
	})
	return nil
}

// changes makes changes and returns the seconds until each reached each viewer.
func (a *audience) changes(ctx context.Context, n int, change func(on bool, note string) error) ([]float64, error) {
	var took []float64
	for i := range n {
		note := "note-" + strconv.Itoa(i) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		a.note.Store(&note)
		if err := change(true, note); err != nil {
			return nil, err
		}
		began, late := time.Now(), time.After(shownWithin)
		for range a.count {
			select {
			case at := <-a.seen:
				took = append(took, max(0, at.Sub(began).Seconds()))
			case <-late:
				return nil, fmt.Errorf("change %d was not shown to all within %s", i, shownWithin)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if err := change(false, ""); err != nil {
			return nil, err
		}
		// The next change must not coincide with the second look after this one.
		if err := pause(ctx, 3*time.Second); err != nil {
			return nil, err
		}
	}
	return took, nil
}

func (a *audience) post(ctx context.Context, on bool, note string) error {
	verb, body := "/resume", ""
	if on {
		verb, body = "/pause", `{"note":"`+note+`"}`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+api.Prefix+"/job-types/type-042"+verb, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", verb, response.Status)
	}
	return response.Body.Close()
}

type anyone struct{}

func (anyone) Authenticate(*http.Request) (api.Caller, error) {
	return api.Caller{Name: "bench", Auth: api.AuthNone, Rights: access.All()}, nil
}

// beViewed serves the API and counts its calls.
func beViewed(ctx context.Context, o options) error {
	ctx = underParent(ctx)
	hub := feed.New()
	var calls, visibility atomic.Int64
	client, err := starter.Dial(ctx, starter.Options{Address: o.address, Identity: childViewed, Intercept: func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		calls.Add(1)
		switch path.Base(method) {
		case "ListSchedules", "ListWorkflowExecutions", "CountWorkflowExecutions":
			visibility.Add(1)
		}
		return hub.Intercept(ctx, method, req, reply, cc, invoke, options...)
	}})
	if err != nil {
		return err
	}
	defer client.Close()
	handlers, validators, err := app.Descriptors(nil)
	if err != nil {
		return err
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		debug.FreeOSMemory() // Garbage is not a cost of a viewer.
		rss, err := rssBytes()
		if err == nil {
			err = json.NewEncoder(w).Encode(used{calls.Load(), visibility.Load(), rss})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := &http.Server{Addr: o.childID, ReadHeaderTimeout: time.Minute, Handler: api.New(api.Options{
		Client: client, Auth: anyone{}, Live: hub, Handlers: handlers, Validators: validators, Pages: map[string]http.Handler{"GET /usage": page},
	}).Handler()}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func rssBytes() (float64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm: %q", text)
	}
	pages, err := strconv.ParseFloat(string(fields[1]), 64)
	return pages * float64(os.Getpagesize()), err
}
