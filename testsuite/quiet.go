package testsuite

import "log/slog"

// Quiet is a logger for tests whose processes have nothing to tell.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
