// Package far is a remote worker with the means of a program in another language.
package far

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Worker is a remote worker.
type Worker struct {
	// API is the address of a gateway.
	API, ID string
	Client  *http.Client
	token   string
}

// call repeats a request until a gateway answers. It returns nil for an empty answer.
func (w *Worker) call(ctx context.Context, path string, body any) map[string]any {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.API+path, bytes.NewReader(encoded))
		if err != nil {
			return nil
		}
		request.Header.Set("Content-Type", "application/json")
		if w.token != "" {
			request.Header.Set("Authorization", "Bearer "+w.token)
		}
		response, err := w.Client.Do(request)
		if err == nil {
			var answer map[string]any
			err = json.NewDecoder(response.Body).Decode(&answer)
			_ = response.Body.Close()
			switch {
			case response.StatusCode == http.StatusNoContent:
				return nil
			case err == nil && response.StatusCode == http.StatusOK:
				return answer
			}
		}
		_ = rpc.Wait(ctx, 100*time.Millisecond)
	}
	return nil
}

// Run registers the worker and works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	registered := w.call(ctx, "/workers/register", map[string]any{
		"id": w.ID, "max_execute": 1, "capabilities": []map[string]any{{"handler": "noop", "detect": true, "execute": true}},
	})
	w.token, _ = registered["token"].(string)
	var loops sync.WaitGroup
	loops.Go(func() {
		for ctx.Err() == nil {
			w.call(ctx, "/workers/"+w.ID+"/ping", map[string]any{"executing": 0, "detecting": 0})
			_ = rpc.Wait(ctx, 5*time.Second)
		}
	})
	loops.Go(func() {
		for ctx.Err() == nil {
			if found := w.call(ctx, "/workers/"+w.ID+"/detections:poll", map[string]any{"wait": "30s"}); found != nil {
				w.detect(ctx, found)
			}
		}
	})
	for ctx.Err() == nil {
		if job := w.call(ctx, "/workers/"+w.ID+"/jobs:poll", map[string]any{"wait": "30s"}); job != nil {
			w.call(ctx, fmt.Sprintf("/leases/%s/complete", job["lease"]), map[string]any{})
		}
	}
	loops.Wait()
}

func (w *Worker) detect(ctx context.Context, found map[string]any) {
	params, _ := found["params"].(map[string]any)
	n, _ := params["n"].(float64)
	cursor, lease := found["cursor"], fmt.Sprintf("/leases/%s", found["lease"])
	for first := 0; first < int(n); first += 1000 {
		var page []map[string]any
		for i := first; i < min(first+1000, int(n)); i++ {
			page = append(page, map[string]any{"dedupe_key": fmt.Sprintf("object/%06d", i), "summary": fmt.Sprintf("no-op %d", i)})
		}
		answer := w.call(ctx, lease+"/proposals", map[string]any{"cursor": cursor, "proposals": page})
		cursor = answer["cursor"]
	}
	w.call(ctx, lease+"/detected", map[string]any{"cursor": cursor})
}
