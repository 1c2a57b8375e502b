package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/calendar"
)

func TestTheInstantsOfADay(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(day, hour int) time.Time { return time.Date(2026, 10, day, hour, 0, 0, 0, time.UTC) }
	ledger := calendar.Ledger{AsOf: at(26, 1), Ticks: []calendar.LedgerTick{
		{At: at(26, 0), State: contract.TickMissed},
		{At: at(25, 22), State: contract.TickOpen, Started: at(25, 22)},
		{At: at(25, 12), State: contract.TickSkipped},
		{At: at(24, 20), State: contract.TickRan, Started: at(24, 21), Ended: at(24, 22)},
		{At: at(24, 10), State: contract.TickRan, Started: at(24, 10), Ended: at(24, 11)},
	}}
	ledger.CountDays(berlin)
	assert.Equal(t, []calendar.Day{
		{From: at(23, 22), To: at(24, 22), Ran: 2},
		{From: at(24, 22), To: at(25, 23), Ran: 2, Skipped: 1}, // 25 hours
		{From: at(25, 23), To: at(26, 23), Ran: 1, Missed: 1},
	}, ledger.Days)

	ahead := calendar.Forecast{Ticks: []calendar.ForecastTick{
		{At: at(24, 10), State: contract.TickRuns, Begins: at(24, 23), Ends: at(26, 1)},
		{At: at(24, 11), State: contract.TickSkipped},
		{At: at(24, 12), State: contract.TickRuns}, // It waits for another job type, so its start is not known.
	}}
	ahead = ahead.WithDays(time.UTC)
	assert.Equal(t, []calendar.Day{
		{From: at(24, 0), To: at(25, 0), Ran: 2, Skipped: 1},
		{From: at(25, 0), To: at(26, 0), Ran: 1},
		{From: at(26, 0), To: at(27, 0), Ran: 1},
	}, ahead.Days)
	assert.Empty(t, (&calendar.Forecast{}).Days)
}
