package notify_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/notify"
)

func notice(id string, to ...string) contract.Notice {
	return contract.Notice{Notification: contract.Notification{Version: 1, ID: id, Event: contract.NotifyFailed}, To: to}
}

func ids(due []contract.Delivery) []string {
	found := []string{}
	for _, d := range due {
		found = append(found, d.Receiver+"<"+d.ID)
	}
	return found
}

var bad = contract.DeliverResult{Error: "HTTP 503"}

func TestADeadReceiverDelaysNoOther(t *testing.T) {
	t.Parallel()
	q := notify.Restore(nil)
	assert.Equal(t, 2, q.Add(start, notice("1", "dead", "ops"), notice("2", "ops"), notice("1", "ops")), "an id counts once")
	assert.Equal(t, []string{"dead<1", "ops<1"}, ids(q.Next(start)))
	assert.Empty(t, q.Next(start), "one at a time")
	q.Done(start, "dead", bad)
	q.Done(start, "ops", contract.DeliverResult{})
	assert.Equal(t, []string{"ops<2"}, ids(q.Next(start)))
	assert.Equal(t, after(5*time.Second), q.Wake())
	assert.Equal(t, []string{"dead<1"}, ids(q.Next(after(5*time.Second))))
}

func TestPausesGrowUntilTheReceiverIsBack(t *testing.T) {
	t.Parallel()
	q, now := notify.Restore(nil), start
	q.Add(now, notice("1", "ops"), notice("2", "ops"))
	for _, seconds := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		require.Len(t, q.Next(now), 1)
		q.Done(now, "ops", bad)
		require.Equal(t, now.Add(time.Duration(seconds)*time.Second), q.Wake())
		now = q.Wake()
	}
	view := q.View()
	assert.Equal(t, start, view.Receivers[0].FailingSince)
	assert.Equal(t, 8, view.Receivers[0].Failures)
	assert.Equal(t, []string{"ops<1"}, ids(q.Next(now)))
	q.Done(now, "ops", contract.DeliverResult{})
	assert.Equal(t, []string{"ops<2"}, ids(q.Next(now)), "the rest follows at once")
	assert.Zero(t, q.View().Receivers[0].FailingSince)
}

func TestWhatCannotBeDeliveredIsGivenUp(t *testing.T) {
	t.Parallel()
	q := notify.Restore(nil)
	q.Add(start, notice("poison", "ops"), notice("old", "ops"))
	q.Next(start)
	q.Done(start, "ops", contract.DeliverResult{Error: "HTTP 400", Permanent: true})
	now := after(5 * time.Second)
	assert.Equal(t, []string{"ops<old"}, ids(q.Next(now)), "one that never can be is not in the way of the next")
	q.Done(now, "ops", bad)
	now = after(notify.GiveUpAfter)
	q.Next(now)
	q.Done(now, "ops", bad)
	view := q.View()
	assert.Zero(t, view.Receivers[0].Waiting)
	assert.Equal(t, 2, view.Receivers[0].Failed)
	assert.Equal(t, []string{"old failed 2 HTTP 503", "poison failed 1 HTTP 400"}, shown(view))
}

func shown(view contract.NotificationsView) []string {
	var lines []string
	for _, d := range view.Deliveries {
		lines = append(lines, fmt.Sprintf("%s %s %d %s", d.ID, d.State, d.Attempts, d.Error))
	}
	return lines
}

func TestATestGoesFirstAndIsTriedOnce(t *testing.T) {
	t.Parallel()
	q := notify.Restore(nil)
	q.Add(start, notice("1", "ops"))
	q.Next(start)
	q.Done(start, "ops", bad)
	trial := contract.Notice{To: []string{"ops"}, Notification: contract.Notification{ID: "test", Event: contract.NotifyTest}}
	q.Add(start, trial)
	assert.Equal(t, []string{"ops<test"}, ids(q.Next(start)), "in the pause")
	q.Done(start, "ops", bad)
	assert.Equal(t, after(5*time.Second), q.Wake())
	assert.Equal(t, []string{"ops<1"}, ids(q.Next(after(5*time.Second))))
	assert.Equal(t, 1, q.View().Receivers[0].Failed)
}

// TestATestIsNotDropped: the queue of a receiver that was dead for long is full, and its test goes first all the same.
func TestATestIsNotDropped(t *testing.T) {
	t.Parallel()
	trial := contract.Notice{To: []string{"ops"}, Notification: contract.Notification{ID: "test", Event: contract.NotifyTest}}
	for _, busy := range []bool{false, true} {
		q := notify.Restore(nil)
		for i := range notify.MaxWaiting {
			q.Add(start, notice(fmt.Sprint(i), "ops"))
		}
		if busy {
			assert.Equal(t, []string{"ops<0"}, ids(q.Next(start)))
		}
		q.Add(start, trial)
		if busy {
			q.Done(start, "ops", contract.DeliverResult{})
		}
		assert.Equal(t, []string{"ops<test"}, ids(q.Next(start)))
		assert.Equal(t, 1, q.View().Receivers[0].Dropped)
	}
}

func TestAFullQueueDropsItsOldest(t *testing.T) {
	t.Parallel()
	q := notify.Restore(nil)
	q.Add(start, notice("0", "ops"))
	q.Next(start)
	for i := range notify.MaxWaiting + 5 {
		q.Add(start, notice(fmt.Sprint(i+1), "ops"))
	}
	view := q.View().Receivers[0]
	assert.Equal(t, []int{notify.MaxWaiting, 6}, []int{view.Waiting, view.Dropped})
	q.Done(start, "ops", contract.DeliverResult{})
	assert.Equal(t, []string{"ops<7"}, ids(q.Next(start)), "not the one that was on its way")
}

func TestReceiversThatNobodyKnowsKeepWhatWaits(t *testing.T) {
	t.Parallel()
	q := notify.Restore(nil)
	q.SetReceivers([]contract.ReceiverInfo{{Name: "b", Kind: "smtp"}, {Name: "a", Kind: "webhook"}})
	q.Add(start, notice("1", "a"))
	q.SetReceivers([]contract.ReceiverInfo{{Name: "c", Kind: "command"}})
	view := q.View()
	assert.Equal(t, []string{"a", "", "c", "command"}, []string{view.Receivers[0].Name, view.Receivers[0].Kind, view.Receivers[1].Name, view.Receivers[1].Kind})
}

// TestEachNoticeEndsOnce: under failures and restores during a delivery, each notice of each
// receiver is sent, given up or dropped, and never lost.
func TestEachNoticeEndsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, now, added, sent := notify.Restore(nil), start, 0, map[string]int{}
		finish := func(d contract.Delivery, result contract.DeliverResult) {
			if result.Error == "" {
				sent[d.Receiver+"<"+d.ID]++
			}
			q.Done(now, d.Receiver, result)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				q.Add(now, notice(fmt.Sprint(added), "a", "b"))
				added++
			case 1:
				for _, d := range q.Next(now) {
					result := contract.DeliverResult{}
					if rapid.Bool().Draw(t, "fails") {
						result = bad
					}
					finish(d, result)
				}
			case 2:
				q.Next(now) // In progress when the run ends.
				encoded, err := json.Marshal(q.State())
				require.NoError(t, err)
				var state contract.NotifyQueueState
				require.NoError(t, json.Unmarshal(encoded, &state))
				q = notify.Restore(&state)
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second)
			}
		}
		for range 2*added + 2 {
			now = now.Add(time.Hour)
			for _, d := range q.Next(now) {
				finish(d, contract.DeliverResult{})
			}
		}
		for i := range added {
			for _, receiver := range []string{"a", "b"} {
				key := fmt.Sprintf("%s<%d", receiver, i)
				require.Equal(t, 1, sent[key], key)
			}
		}
	})
}
