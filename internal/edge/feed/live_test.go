package feed_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
)

var errRefused = errors.New("namespace rate limit exceeded")

type world struct {
	mu      sync.Mutex
	state   string
	err     error
	fetches int
}

// seat views the topic for a permission set; the picture contains its name.
func (w *world) seat(topic, set string) feed.Seat {
	return feed.Seat{Topic: topic, Set: set, Make: func(context.Context) (feed.Picture, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fetches++
		text := set + " sees " + w.state
		return feed.Picture{Body: []byte(text), Digest: fmt.Sprintf("%x", text), AsOf: time.Now()}, w.err
	}}
}

func (w *world) is(state string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.err = state, err
}

func (w *world) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fetches
}

func hub() *feed.Hub {
	h := feed.New()
	h.Declare(feed.Topic{Name: "runs", Every: 10 * time.Second, Gap: time.Second, Of: []string{"group/", "fleet"}})
	return h
}

func kinds(events []feed.Event) []string {
	var all []string
	for _, event := range events {
		all = append(all, event.Kind+" "+string(event.Body))
	}
	return all
}

func TestManyViewersCostWhatOneCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{state: "a"}
		streams := make([]*feed.Stream, 500)
		for i := range streams {
			streams[i] = h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		}
		synctest.Wait()
		assert.Equal(t, 1, w.made())
		w.is("b", nil)
		h.Changed("group/scrub-1")
		time.Sleep(feed.Debounce + time.Second)
		synctest.Wait()
		assert.Equal(t, 2, w.made())
		first := streams[0].Next()
		require.Len(t, first, 1)
		for _, stream := range streams[1:] {
			events := stream.Next()
			require.Len(t, events, 1, "the newest picture alone: what came between is left out")
			assert.Equal(t, "all sees b", string(events[0].Body))
			assert.Same(t, &first[0].Body[0], &events[0].Body[0], "serialised once")
		}
		for _, stream := range streams {
			stream.Close()
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		h.Changed("group/scrub-1")
		assert.Equal(t, 2, w.made(), "without viewers it sleeps")
		again := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		synctest.Wait()
		assert.Equal(t, 3, w.made())
		again.Close()
	})
}

// A busy topic is fetched often while its pictures change, then less often.
func TestABusyTopicSettles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := feed.New(), &world{state: "a"}
		h.Declare(feed.Topic{Name: "run", Every: 32 * time.Second, Busy: 2 * time.Second, Of: []string{"x"}})
		stream := h.Join([]feed.Seat{w.seat("run", "all")}, "")
		defer stream.Close()
		for i := range 10 {
			w.is(strconv.Itoa(i), nil)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			assert.GreaterOrEqual(t, w.made(), i+1)
		}
		time.Sleep(10 * time.Minute)
		before := w.made()
		time.Sleep(320 * time.Second)
		assert.Equal(t, 10, w.made()-before)
		w.is("again", nil)
		h.Changed("x")
		time.Sleep(time.Second)
		synctest.Wait()
		before = w.made()
		w.is("and again", nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Greater(t, w.made(), before, "busy again")
	})
}

func TestPermissionSetsDoNotMix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{state: "a"}
		all, scoped := h.Join([]feed.Seat{w.seat("runs", "all")}, ""), h.Join([]feed.Seat{w.seat("runs", "scrub")}, "")
		defer all.Close()
		defer scoped.Close()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"snapshot all sees a"}, kinds(all.Next()))
		assert.Equal(t, []string{"snapshot scrub sees a"}, kinds(scoped.Next()))
	})
}

// A burst of changes causes one look soon, then a gap.
func TestChangesWakeTheFetcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{state: "a"}
		stream := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		defer stream.Close()
		time.Sleep(1500 * time.Millisecond)
		completed := func(id string, err error) {
			_ = h.Intercept(t.Context(), "", &workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:" + id}, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return err })
		}
		completed("group/scrub-1", errRefused)
		completed("admission", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, 1, w.made(), "nothing of it has changed")
		for range 100 {
			completed("group/scrub-1", nil)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(feed.Debounce)
		synctest.Wait()
		assert.Equal(t, 4, w.made(), "more than two seconds of changes, at most one look in a second")
		w.is("b", nil)
		time.Sleep(2 * time.Second)
		completed("fleet", nil)
		time.Sleep(feed.Debounce)
		synctest.Wait()
		<-stream.Ready()
		events := stream.Next()
		assert.Equal(t, []string{"snapshot all sees b"}, kinds(events))
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{state: "a"}
		first := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		synctest.Wait()
		events := first.Next()
		require.Equal(t, []string{"snapshot all sees a"}, kinds(events))
		first.Close()
		h = hub() // Another control plane.
		same, stranger := h.Join([]feed.Seat{w.seat("runs", "all")}, events[0].ID), h.Join([]feed.Seat{w.seat("runs", "all")}, "runs=other")
		defer same.Close()
		defer stranger.Close()
		synctest.Wait()
		assert.Empty(t, same.Next(), "it has that picture")
		assert.Equal(t, []string{"snapshot all sees a"}, kinds(stranger.Next()))
		w.is("b", nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"change all sees b"}, kinds(same.Next()))
	})
}

func TestARefusalKeepsTheLastPicture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{state: "a"}
		stream := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		defer stream.Close()
		synctest.Wait()
		made := stream.Next()[0].AsOf
		w.is("a", errRefused)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		events := stream.Next()
		require.Equal(t, []string{"refused "}, kinds(events), "told once")
		require.ErrorIs(t, events[0].Why, errRefused)
		assert.Equal(t, made, events[0].AsOf)
		late := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		defer late.Close()
		assert.Equal(t, []string{"snapshot all sees a", "refused "}, kinds(late.Next()), "the last picture, and that it is old")
		w.is("a", nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"change all sees a"}, kinds(stream.Next()), "the same is in force again")
	})
}

// Another reason is an event. The same one with another time or id is none.
func TestAnotherReasonOfARefusalIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w := hub(), &world{}
		stream := h.Join([]feed.Seat{w.seat("runs", "all")}, "")
		defer stream.Close()
		synctest.Wait()
		stream.Next()
		for i, row := range []struct {
			status       int
			detail, told string
		}{
			{404, "run a is gone", "refused "},
			{503, "run a is gone", "refused "},
			{503, "no answer after 2.5s to request 8f3c", "refused "},
			{503, "no answer after 2.7s to request 91ab", ""},
			{503, "no disk", "refused "},
		} {
			why := problem.New(row.status, "", row.detail)
			w.is("", why)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			events := stream.Next()
			if row.told == "" {
				assert.Empty(t, events, i)
				continue
			}
			require.Equal(t, []string{row.told}, kinds(events), i)
			assert.Equal(t, why, events[0].Why)
		}
	})
}

func TestSourceFetchesOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fetches := 0
		source := feed.NewSource(func(context.Context) (int, error) {
			fetches++
			time.Sleep(100 * time.Millisecond)
			return fetches, nil
		})
		answers := make(chan int, 200)
		for range 200 {
			go func() {
				answer, err := source.Get(t.Context())
				assert.NoError(t, err)
				answers <- answer.Value
			}()
		}
		for range 200 {
			assert.Equal(t, 1, <-answers)
		}
		began := time.Now()
		go func() { // The running fetch began before the change.
			_, err := source.Get(t.Context())
			assert.NoError(t, err)
		}()
		synctest.Wait()
		source.Stale()
		answer, err := source.Get(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, answer.Value, "what was changed is seen")
		assert.Equal(t, 500*time.Millisecond, time.Since(began), "not more often than twice in a second")
	})
}

func TestSourceKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fault error
		source := feed.NewSource(func(context.Context) (string, error) { return "kept", fault })
		fault = errRefused
		_, err := source.Get(t.Context())
		require.ErrorIs(t, err, errRefused, "there is nothing to keep")
		fault = nil
		first, err := source.Get(t.Context())
		require.NoError(t, err)
		fault = errRefused
		time.Sleep(30 * time.Second)
		answer, err := source.Get(t.Context())
		require.NoError(t, err)
		assert.Equal(t, feed.Answer[string]{Value: "kept", AsOf: first.AsOf, Refused: errRefused}, answer)
		time.Sleep(40 * time.Second)
		_, err = source.Get(t.Context())
		require.ErrorIs(t, err, errRefused, "too old to pass for an answer")
	})
}

// A change known only to the server reaches the viewers. Without viewers there are no requests, and an
// ended workflow is requested once.
func TestPatrol(t *testing.T) {
	t.Parallel()
	var state, asked, over atomic.Int64
	h := feed.New()
	h.Patrol(10*time.Millisecond, func(_ context.Context, id string) (string, bool, error) {
		if id == "ended" {
			over.Add(1)
			return "", true, nil
		}
		asked.Add(1)
		return strconv.FormatInt(state.Load(), 10), false, nil
	})
	h.Declare(feed.Topic{Name: "audit", Every: time.Hour, Of: []string{"audit", "group/"}})
	picture := func(context.Context) (feed.Picture, error) {
		text := strconv.FormatInt(state.Load(), 10)
		return feed.Picture{Body: []byte(text), Digest: text}, nil
	}
	viewer := h.Join([]feed.Seat{
		{Topic: "audit", Set: "all", Make: picture},
		{Topic: "run/x", Set: "all", Make: picture, Passing: &feed.Topic{Name: "run/x", Every: time.Hour, Of: []string{"ended"}}},
	}, "")
	shows := func(wanted string) func() bool {
		newest := ""
		return func() bool {
			for _, event := range viewer.Next() {
				if event.Topic == "audit" {
					newest = string(event.Body)
				}
			}
			return newest == wanted
		}
	}
	require.Eventually(t, shows("0"), time.Minute, 5*time.Millisecond)
	state.Store(7)
	require.Eventually(t, shows("7"), time.Minute, 5*time.Millisecond)
	assert.EqualValues(t, 1, over.Load())
	viewer.Close()
	before := asked.Load()
	require.Eventually(t, func() bool { // One request may be on its way.
		now := asked.Load()
		quiet := now == before
		before = now
		return quiet
	}, time.Minute, 100*time.Millisecond)
	again := h.Join([]feed.Seat{{Topic: "audit", Set: "all", Make: picture}}, "")
	require.Eventually(t, func() bool { return asked.Load() > before }, time.Minute, 5*time.Millisecond)
	again.Close()
}

// For any number of viewed runs there are at most twenty requests per second.
func TestPatrolHasALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, w, asked := feed.New(), &world{state: "a"}, 0
		h.Patrol(2500*time.Millisecond, func(context.Context, string) (string, bool, error) {
			asked++
			return "", false, errRefused // Runs that do not exist.
		})
		var seats []feed.Seat
		for i := range 1000 {
			seat := w.seat(fmt.Sprintf("run/%d", i), "all")
			seat.Passing = &feed.Topic{Name: seat.Topic, Every: time.Hour, Of: []string{seat.Topic}}
			seats = append(seats, seat)
		}
		stream := h.Join(seats, "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stream.Close()
		assert.InDelta(t, 200, asked, 10)
	})
}
