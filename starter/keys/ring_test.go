package keys

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// shelf is a server that holds the keys.
type shelf struct {
	client.Client

	mu    sync.Mutex
	held  record
	fault error
	// delay is the time from a read to its answer.
	delay time.Duration
	reads atomic.Int32
}

type shelfCalls struct {
	workflowservice.WorkflowServiceClient

	shelf *shelf
}

func (s *shelf) WorkflowService() workflowservice.WorkflowServiceClient { return shelfCalls{shelf: s} }

func (c shelfCalls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	c.shelf.reads.Add(1)
	c.shelf.mu.Lock()
	held, fault, delay := c.shelf.held, c.shelf.fault, c.shelf.delay
	c.shelf.mu.Unlock()
	time.Sleep(delay)
	if fault != nil {
		return nil, fault
	}
	input, err := starter.DataConverter().ToPayloads(held)
	return &workflowservice.DescribeScheduleResponse{Schedule: holder(input), ConflictToken: []byte("1")}, err
}

func (c shelfCalls) UpdateSchedule(_ context.Context, in *workflowservice.UpdateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.UpdateScheduleResponse, error) {
	c.shelf.mu.Lock()
	defer c.shelf.mu.Unlock()
	var next record
	err := starter.DataConverter().FromPayloads(in.GetSchedule().GetAction().GetStartWorkflow().GetInput(), &next)
	c.shelf.held = next
	return &workflowservice.UpdateScheduleResponse{}, err
}

func (s *shelf) ring() *Ring { return NewRing(New(starter.New(s, "", nil))) }

func (s *shelf) set(change func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func aKey(id string, used time.Time) (stored, string) {
	secret := Prefix + id + "_secret"
	return stored{Key{ID: id, Name: id, Role: "viewer", LastUsed: used}, sumOf(secret)}, secret
}

// TestALogOutCountsAtOnce: also if a read that began before it ends after it.
func TestALogOutCountsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &shelf{}
		ring, session := server.ring(), Session{ID: "s", Name: "ann", At: time.Now()}
		ended := func() bool {
			over, err := ring.Ended(t.Context(), session)
			assert.NoError(t, err)
			return over
		}
		require.False(t, ended())
		time.Sleep(freshFor)
		server.set(func(s *shelf) { s.delay = time.Second })
		go ended() // It reads for a second.
		synctest.Wait()
		server.set(func(s *shelf) { s.delay = 100 * time.Millisecond })
		require.NoError(t, ring.EndSession(t.Context(), session))
		assert.True(t, ended(), "while the earlier read is under way")
		time.Sleep(time.Second)
		assert.True(t, ended(), "and after it")
		other, err := ring.Ended(t.Context(), Session{ID: "t", Name: "ann", At: session.At})
		require.NoError(t, err)
		assert.False(t, other)
	})
}

// TestKeysAreReadSeldom: anyone can send any number of unknown keys.
func TestKeysAreReadSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		known, secret := aKey("aaaaaaaaaa", now)
		server := &shelf{held: record{Keys: []stored{known}}, delay: 10 * time.Millisecond}
		ring := server.ring()
		check := func(secret string) error {
			_, err := ring.Check(t.Context(), secret)
			return err
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { assert.NoError(t, check(secret)) })
		}
		all.Wait()
		assert.EqualValues(t, 1, server.reads.Load(), "callers share a read")
		for _, garbage := range []string{"", "rmk_", "rmk_aaaaaaaaaa", "rmk_short_x", "aaaaaaaaaa_secret", secret[4:]} {
			require.ErrorIs(t, check(garbage), ErrUnknown, garbage)
		}
		assert.EqualValues(t, 1, server.reads.Load(), "what is no key needs no read")
		require.ErrorIs(t, check(secret+"x"), ErrUnknown)
		assert.EqualValues(t, 1, server.reads.Load(), "the key is known, and its secret is wrong")
		for range 200 {
			require.ErrorIs(t, check("rmk_zzzzzzzzzz_x"), ErrUnknown)
		}
		assert.LessOrEqual(t, server.reads.Load(), int32(1+2*(afreshBurst+3)))

		time.Sleep(time.Minute)
		next, fresh := aKey("bbbbbbbbbb", now)
		require.NoError(t, check(secret))
		server.set(func(s *shelf) { s.held = record{Keys: []stored{known, next}} })
		require.NoError(t, check(fresh), "a new key works at once")
		known.RevokedAt = now
		server.set(func(s *shelf) { s.held = record{Keys: []stored{known, next}} })
		time.Sleep(freshFor)
		require.ErrorIs(t, check(secret), ErrUnknown, "a revoked one is refused soon")
		valid, err := ring.Valid(t.Context(), next.ID)
		require.NoError(t, err)
		assert.True(t, valid)

		time.Sleep(freshFor)
		server.set(func(s *shelf) { s.fault = serviceerror.NewPermissionDenied("no", "") })
		err = check(fresh)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrUnknown, "a server that does not answer is no wrong key")
		valid, err = ring.Valid(t.Context(), next.ID)
		require.Error(t, err)
		assert.True(t, valid || err != nil)
		synctest.Wait()
	})
}

// TestTheUseOfAKeyIsNotedOnceAnHour, and an expired key is refused on the second.
func TestTheUseOfAKeyIsNotedOnceAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		key, secret := aKey("aaaaaaaaaa", time.Time{})
		key.ExpiresAt = start.Add(2 * time.Hour)
		server := &shelf{held: record{Keys: []stored{key}}}
		ring := server.ring()
		lastUse := func() time.Time {
			synctest.Wait()
			server.mu.Lock()
			defer server.mu.Unlock()
			return server.held.Keys[0].LastUsed
		}
		for range 5 {
			_, err := ring.Check(t.Context(), secret)
			require.NoError(t, err)
		}
		first := lastUse()
		assert.WithinDuration(t, start, first, time.Minute)
		time.Sleep(30 * time.Minute)
		_, err := ring.Check(t.Context(), secret)
		require.NoError(t, err)
		assert.Equal(t, first, lastUse())
		time.Sleep(time.Hour)
		_, err = ring.Check(t.Context(), secret)
		require.NoError(t, err)
		assert.Equal(t, start.Add(90*time.Minute).UTC().Truncate(time.Minute), lastUse())
		time.Sleep(30*time.Minute - 1)
		_, err = ring.Check(t.Context(), secret)
		require.NoError(t, err, "a nanosecond before")
		time.Sleep(time.Nanosecond)
		_, err = ring.Check(t.Context(), secret)
		require.ErrorIs(t, err, ErrUnknown)
		synctest.Wait()
	})
}
