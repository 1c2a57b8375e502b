package config

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/internal/lib/folder"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Bounds of a file of holidays.
const (
	maxHolidays     = 400
	maxHolidayBytes = 64 << 10
)

// The file lies at or below the folder of the configuration: one date per line, and a text behind a space or #.
func (t *timetable) holidays(written *yamlread.Node, at string) (dates []string) {
	if written == nil {
		return nil
	}
	before, file := len(t.faults), ""
	if t.text(written, at, &file); len(t.faults) > before {
		return nil
	}
	below := t.folders[written.Place().File]
	if below == nil {
		t.fault(written.Place(), at, "%s", noFiles)
		return nil
	}
	data, err := below.Read(path.Clean(filepath.ToSlash(file)), maxHolidayBytes)
	if errors.Is(err, folder.ErrTooLong) {
		t.fault(written.Place(), at, "%s has more than %d KiB: remove the dates of past years and long texts", file, maxHolidayBytes>>10)
		return nil
	}
	if err != nil {
		t.fault(written.Place(), at, "%s cannot be read: %s: name a file at or below %s", file, cause(err), below)
		return nil
	}
	for i, line := range strings.Split(string(data), "\n") {
		text, _, _ := strings.Cut(strings.TrimSpace(line), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if _, err := time.Parse(time.DateOnly, fields[0]); err != nil {
			t.fault(written.Place(), at, "%s:%d: %q is no date: write one per line, like 2026-12-25", file, i+1, fields[0])
			return nil
		}
		dates = append(dates, fields[0])
	}
	slices.Sort(dates)
	dates = slices.Compact(dates)
	switch {
	case len(dates) == 0:
		t.fault(written.Place(), at, "%s has no date: write one per line, like 2026-12-25", file)
	case len(dates) > maxHolidays:
		t.fault(written.Place(), at, "%s has %d dates, the limit is %d: remove those of past years", file, len(dates), maxHolidays)
		return nil
	}
	return dates
}

func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// Measured with the embedded server on two busy cores: with 4,000 a create takes 0.2 s, a describe 0.9 s at first and
// 0.06 s later (200 KB), an update 1 s. 10,000 work. From 12,000 on the Schedule's workflow fails: no describe, no
// update, no run.
const maxCalendars = 4_000

// calendars refuses cron expressions and days whose product is too large for the server.
func (t *timetable) calendars(n *yamlread.Node, path string, expressions []crontab.Expression, days []string) {
	parts, err := window.Parts(days)
	if err != nil || len(days) == 0 {
		return // The days have a fault of their own.
	}
	total := 0
	for _, expression := range expressions {
		total += len(expression.Calendars()) * len(parts)
	}
	if total > maxCalendars {
		t.fault(n.Get("cron").Place(), path+".cron", "%d expressions on %d days are %d calendars of the server, the limit is %d: join times of a day (0 2,4 * * *)",
			len(expressions), len(days), total, maxCalendars)
	}
}

func (t *timetable) scheduleDays(n *yamlread.Node, path string, expressions []crontab.Expression, spec *contract.ScheduleSpec) {
	var days []string
	for _, item := range t.texts(n.Get("days"), path+".days") {
		days = append(days, item.Literal)
	}
	days = append(days, t.holidays(n.Get("holidays"), path+".holidays")...)
	spec.Except = t.holidays(n.Get("except_holidays"), path+".except_holidays")
	stored, err := window.Days(days)
	if err != nil {
		t.fault(n.Get("days").Place(), path+".days", "%s", err)
		return
	}
	spec.Days = stored
	t.calendars(n, path, expressions, stored)
	for _, expression := range expressions {
		if fields := strings.Fields(expression.String()); len(stored) > 0 && len(fields) == 5 && (fields[2] != "*" || fields[4] != "*") {
			t.fault(n.Get("cron").Place(), path+".cron", "%q and days both name days: write * for the day of the month and the weekday", expression.String())
		}
	}
}
