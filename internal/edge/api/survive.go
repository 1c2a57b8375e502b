package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// survives turns a panic into an error: net/http recovers only in the goroutines of requests.
func survives[T any](logger *slog.Logger, do func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (value T, err error) {
		defer func() {
			if bug := recover(); bug != nil {
				logger.Error("a bug", "panic", bug, "stack", string(debug.Stack()))
				err = problem.New(http.StatusInternalServerError, "", "this is a bug: the log of the server has more")
			}
		}()
		return do(ctx)
	}
}
