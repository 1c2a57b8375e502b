package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// When the next view is due must not depend on the order in which a map is walked:
// a replay would order another timer, or none.
func TestEarliestSendIsOneTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	watchers := map[string]*watcher{}
	add := func(seq int64, next time.Time) {
		watchers[fmt.Sprint(len(watchers))] = &watcher{seq: seq, FleetStateWatcher: contract.FleetStateWatcher{NextSend: next}}
	}
	assert.Zero(t, earliestSend(watchers, 7, now))
	add(7, now)
	assert.Zero(t, earliestSend(watchers, 7, now), "it knows")
	for i := range 10 {
		add(6, now.Add(time.Duration(i+1)*time.Second))
	}
	assert.Equal(t, now.Add(time.Second), earliestSend(watchers, 7, now))
	for range 10 {
		add(6, time.Time{})
		add(6, now.Add(-time.Hour))
	}
	for range 200 {
		assert.Equal(t, now, earliestSend(watchers, 7, now))
	}
}
