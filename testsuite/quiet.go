package testsuite

import "log/slog"

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
