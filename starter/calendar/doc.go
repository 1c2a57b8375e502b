// Package calendar gathers what is known of scheduled instants: what the next days
// bring, and what became of the instants of the last days. The decisions are those of
// internal/engine/forecast and internal/engine/ticks.
package calendar
