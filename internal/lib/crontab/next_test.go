package crontab_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The ticks of testdata are those that the code of a Temporal server 1.32.1 finds over changes of clocks: also of half
// an hour (Lord Howe), of two hours (Troll) and at midnight (Santiago, São Paulo, Cairo, Beirut, Nuuk).
func TestTicksAreThoseOfTemporal(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/temporal.jsonl")
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	read := 0
	for lines := bufio.NewScanner(file); lines.Scan(); read++ {
		var row struct {
			Zone, Cron string
			After      time.Time
			Next       []time.Time
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		zone, err := time.LoadLocation(row.Zone)
		require.NoError(t, err)
		expression, at := parse(t, row.Cron), row.After.In(zone)
		for _, want := range row.Next {
			next := expression.Next(at)
			assert.Equal(t, want, next.UTC(), "%s in %s after %s", row.Cron, row.Zone, at)
			at = want.In(zone)
		}
	}
	assert.NotZero(t, read)
}

// robfig/cron looks for this Sunday for ever: the islands left out 30 December 2011.
func TestADayThatClocksLeaveOut(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Pacific/Apia")
	require.NoError(t, err)
	at := parse(t, "0 2 * * sun").Next(time.Date(2011, time.December, 28, 0, 0, 0, 0, zone))
	assert.Equal(t, time.Date(2012, time.January, 1, 2, 0, 0, 0, zone), at)
}
