// Package crontab parses cron expressions and converts them to calendars. It is pure.
//
// A Temporal server lacks the rule that a restricted day of month and a restricted day of week mean "either". So
// configuration and Schedules share the interpretation of robfig/cron. The next tick is that of a Temporal server, also
// where clocks change. Ambiguous and impossible expressions are refused with the alternative.
package crontab
