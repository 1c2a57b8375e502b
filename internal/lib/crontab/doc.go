// Package crontab reads cron expressions and turns them into calendars.
//
// A Temporal server keeps a cron string as structured calendars and knows
// neither the rule that a restricted day of month and a restricted day of week
// mean "either", nor this package's refusals. Configuration and Schedules
// therefore share one reading of an expression: the one of robfig/cron, with
// what is ambiguous or cannot be honoured refused by a message that names the
// alternative.
//
// The package is pure: no clock, no time zone database, the same answer
// everywhere.
package crontab
