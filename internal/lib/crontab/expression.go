package crontab

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// maxLength bounds an expression. Every field as a list of all its values stays below it.
const maxLength = 512

// starBit is robfig/cron's mark of a field written as a star, next to the bits of its values.
const starBit = uint64(1) << 63

// Expression is a parsed cron expression.
type Expression struct {
	text string
	spec *cron.SpecSchedule
}

// String returns the expression as written.
func (e Expression) String() string { return e.text }

// Parse parses five fields or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly. It refuses
// a time zone, an interval, seconds, and expressions that match no date.
func Parse(text string) (Expression, error) {
	trimmed := strings.TrimSpace(text)
	if err := refuse(trimmed); err != nil {
		return Expression{}, err
	}
	parsed, err := cron.ParseStandard(trimmed)
	if err != nil {
		return Expression{}, readable(trimmed, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Expression{}, fmt.Errorf("cron %q is not a calendar: use schedule.every for intervals", text)
	}
	expression := Expression{text: trimmed, spec: spec}
	if err := expression.matchesSomething(); err != nil {
		return Expression{}, err
	}
	return expression, nil
}

// refuse rejects texts that robfig/cron would accept wrongly, misread or crash on.
func refuse(text string) error {
	switch {
	case text == "":
		return errors.New("the cron expression is empty: write five fields, for instance \"0 2 * * *\"")
	case len(text) > maxLength:
		return fmt.Errorf("the cron expression has %d characters, the limit is %d: write several expressions", len(text), maxLength)
	case strings.HasPrefix(text, "TZ="), strings.HasPrefix(text, "CRON_TZ="):
		return fmt.Errorf("cron %q names a time zone: use schedule.timezone", text)
	case strings.HasPrefix(text, "@every"):
		return fmt.Errorf("cron %q is an interval: use schedule.every", text)
	case strings.HasPrefix(text, "@reboot"):
		return fmt.Errorf("cron %q has no meaning for a cluster: use schedule.every or a calendar", text)
	case strings.HasPrefix(text, "@"):
		return nil
	}
	if fields := len(strings.Fields(text)); fields != 5 {
		return fmt.Errorf("cron %q has %d fields, it needs 5: minute hour day-of-month month day-of-week", text, fields)
	}
	return nil
}

func readable(text string, err error) error {
	hint := ""
	if strings.Contains(err.Error(), "above maximum (6)") {
		hint = " (Sunday is 0 or sun)"
	}
	return fmt.Errorf("cron %q: %w%s", text, err, hint)
}

// matchesSomething refuses empty fields (a lone comma) and dates that do not exist, like 31 February.
func (e Expression) matchesSomething() error {
	for _, field := range e.fields() {
		if len(field.values) == 0 {
			return fmt.Errorf("cron %q: the field %s names no value", e.text, field.name)
		}
	}
	if e.Next(reference()).IsZero() {
		return fmt.Errorf("cron %q never comes: no month has such a day", e.text)
	}
	return nil
}

// The cycle of [Gap] begins with a leap year.
func reference() time.Time {
	return time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second)
}
