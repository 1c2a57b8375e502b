// Package calendar collects facts about scheduled instants for internal/engine/forecast and internal/engine/ticks.
package calendar
