// Package crontab parses cron expressions and converts them to calendars.
//
// A Temporal server stores a cron string as structured calendars. It lacks the rule that a restricted day of
// month and a restricted day of week mean "either", and this package's refusals. Configuration and Schedules
// therefore share one interpretation: that of robfig/cron. Ambiguous and impossible expressions are refused
// with a message that names the alternative.
//
// The package is pure: it uses no clock and no time zone database.
package crontab
