package testsuite

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// SlotsEnv is the environment variable with the number of tests of one process that have a server at once. Others begin
// one by one while the CPUs are idle. Without it, only `-parallel` bounds them.
const SlotsEnv = "ROUNDSMAN_TEST_SLOTS"

const (
	slotTick = 100 * time.Millisecond
	// slotIdle is longer than a server and its workers need to start, so that their load is in the next measurement.
	slotIdle = 4 * time.Second
	// slotShare of the time of all CPUs is more than a test with a server uses.
	slotShare = 0.3
)

// slots bounds the tests with a server.
type slots struct {
	mu   sync.Mutex
	idle *Idle
	held map[string]bool
}

var serverSlots = slots{idle: NewIdle(slotIdle, slotShare), held: map[string]bool{}} //nolint:gochecknoglobals // of all tests of the process

// await returns when the test may start a server, and frees its slot at its end.
func (s *slots) await(t testing.TB) error {
	text := os.Getenv(SlotsEnv)
	if text == "" {
		return nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s: %w", SlotsEnv, err)
	}
	tick := time.NewTicker(slotTick)
	defer tick.Stop()
	for !s.take(t.Name(), limit) {
		select {
		case <-t.Context().Done():
			return t.Context().Err()
		case <-tick.C:
		}
	}
	t.Cleanup(func() { s.free(t.Name()) })
	return nil
}

// take takes a slot. A test that has one, or whose parent has, needs no other.
func (s *slots) take(test string, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for holder := range s.held {
		if strings.HasPrefix(test+"/", holder+"/") {
			return true
		}
	}
	if len(s.held) >= limit && !s.idle.Now() {
		return false
	}
	s.held[test] = true
	return true
}

func (s *slots) free(test string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, test)
}
