package api

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// survives makes a failure of a bug, for what runs in a goroutine of its own: net/http
// looks after those of requests alone, and any other panic ends the process.
func survives[T any](a *API, do func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (value T, err error) {
		defer func() {
			if bug := recover(); bug != nil {
				a.options.Logger.Error("a bug", "panic", bug, "stack", string(debug.Stack()))
				err = problem.New(http.StatusInternalServerError, "", "this is a bug: the log of the server has more")
			}
		}()
		return do(ctx)
	}
}
