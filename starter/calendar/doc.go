// Package calendar collects facts about scheduled instants: the forecast of the next days, and the
// ledger of the last days. internal/engine/forecast and internal/engine/ticks decide.
package calendar
