package crontab

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The gap is compared with the ticks of robfig/cron.
func TestGapIsThatOfTheTicks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var expressions []Expression
		for range rapid.IntRange(1, 3).Draw(t, "expressions") {
			part := func(name string, low, high int) string {
				at := rapid.IntRange(low, high).Draw(t, name)
				return rapid.SampledFrom([]string{"*", fmt.Sprint(at), fmt.Sprintf("%d-%d", at, high), fmt.Sprintf("%d,%d", low, at)}).Draw(t, name+" as")
			}
			// Few ticks a day keep the comparison short.
			text := fmt.Sprintf("%d %d %s %s %s", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour"),
				part("date", 1, 31), part("month", 1, 12), part("weekday", 0, 6))
			expression, err := Parse(text)
			if err != nil {
				require.ErrorContains(t, err, "never comes", text)
				return
			}
			expressions = append(expressions, expression)
		}
		assert.Equal(t, slowGap(expressions), Gap(expressions), "%v", expressions)
	})
}

func slowGap(expressions []Expression) time.Duration {
	smallest, at := longestGap, time.Time{}
	end := time.Date(2029, time.January, 1, 0, 0, 0, 0, time.UTC)
	for after := reference(); ; after = at {
		var next time.Time
		for _, expression := range expressions {
			if tick := expression.Next(after); !tick.IsZero() && (next.IsZero() || tick.Before(next)) {
				next = tick
			}
		}
		if next.IsZero() || !next.Before(end) {
			return smallest
		}
		if !at.IsZero() {
			smallest = min(smallest, next.Sub(at))
		}
		at = next
	}
}

// Two ticks are close to each other once in four years.
func TestGapSeesTheRarePair(t *testing.T) {
	t.Parallel()
	var expressions []Expression
	for _, text := range []string{"* 0-11 * * *", "30 12 29 2 *", "31 12 29 2 *", "0 22 * * *"} {
		expression, err := Parse(text)
		require.NoError(t, err)
		expressions = append(expressions, expression)
	}
	assert.Equal(t, time.Minute, Gap(expressions[1:]))
	assert.Equal(t, 24*time.Hour, Gap(expressions[3:]))
}

// The work does not depend on the number of ticks.
func TestGapJoinsEachSetOfExpressionsOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"* * * * *": 1, "0 2 * * *": 1, "* * 1 * mon": 1, "0 0 29 2 *": 1} {
		expression, err := Parse(text)
		require.NoError(t, err)
		_, joined := measure([]Expression{expression})
		assert.Equal(t, want, joined, text)
	}
	var many []Expression
	for i := range 50 {
		expression, err := Parse(fmt.Sprintf("%d * * * %d", i, i%7))
		require.NoError(t, err)
		many = append(many, expression)
	}
	_, joined := measure(many)
	assert.Equal(t, 7, joined, "one for each weekday")
}
