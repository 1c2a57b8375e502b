// Package sdklog is the logger of the SDK without its false alarms.
package sdklog

import (
	"context"
	"log/slog"
)

const (
	panicked = "Workflow panic"
	failed   = "Failed to process workflow task."
	attempt  = "Attempt"
)

// New returns a logger for the SDK. The failure of a workflow task in its first attempt is debug: a query that races
// with an update causes it (docs/adr/0080). A real fault repeats within milliseconds as attempt 2.
func New(logger *slog.Logger) *slog.Logger { return slog.New(handler{logger.Handler()}) }

type handler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	if (record.Message == panicked || record.Message == failed) && first(record) {
		record.Level = slog.LevelDebug
		if !h.Enabled(ctx, record.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, record)
}

func first(record slog.Record) bool {
	found := false
	record.Attrs(func(a slog.Attr) bool {
		found = a.Key == attempt && a.Value.Kind() == slog.KindInt64 && a.Value.Int64() == 1
		return !found
	})
	return found
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
