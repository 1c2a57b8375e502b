package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

// TestDaysOfAMonth: the spans of a leap year are the dates that a calendar on the wall shows.
func TestDaysOfAMonth(t *testing.T) {
	t.Parallel()
	for day, want := range map[string][]string{
		"last":      {"01-31", "02-29", "03-31", "04-30", "05-31", "06-30", "07-31", "08-31", "09-30", "10-31", "11-30", "12-31"},
		"-2":        {"01-30", "02-28", "03-30", "04-29", "05-30", "06-29", "07-30", "08-30", "09-29", "10-30", "11-29", "12-30"},
		"31":        {"01-31", "03-31", "05-31", "07-31", "08-31", "10-31", "12-31"},
		"first sun": {"01-07", "02-04", "03-03", "04-07", "05-05", "06-02", "07-07", "08-04", "09-01", "10-06", "11-03", "12-01"},
		"Last Fri":  {"01-26", "02-23", "03-29", "04-26", "05-31", "06-28", "07-26", "08-30", "09-27", "10-25", "11-29", "12-27"},
	} {
		calendar, err := window.New(&jobtype.Calendar{Windows: []jobtype.Window{{Days: []string{day}, From: "22:00", To: "06:00", Timezone: "Europe/Berlin"}}}, time.LoadLocation)
		require.NoError(t, err)
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		from := time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC)
		var got []string
		for _, span := range calendar.Spans(window.Span{From: from, To: from.AddDate(1, 0, 0)}) {
			got = append(got, span.From.In(berlin).Format("01-02"))
			assert.Equal(t, 22, span.From.In(berlin).Hour(), day)
		}
		assert.Equal(t, want, got, day)
	}
}

func TestDaysOfAMonthAreStoredInOneForm(t *testing.T) {
	t.Parallel()
	stored, err := window.Days([]string{"last FRIDAY", "-1", "sat-sun", "last", "first sun", "15"})
	require.NoError(t, err)
	assert.Equal(t, []string{"sat", "sun", "last", "15", "last fri", "first sun"}, stored)
	again, err := window.Days(stored)
	require.NoError(t, err)
	assert.Equal(t, stored, again)
	for _, text := range []string{"fifth sun", "0", "32", "-32", "first", "last month", "first  "} {
		_, err := window.Days([]string{text})
		assert.ErrorContains(t, err, "there is no day", text)
	}
}
