package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
)

// The access log has one line for each write and each refusal, with caller, authentication and
// address. Reads and the protocol of workers have level debug.
func TestTheAccessLog(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	handler := api.New(api.Options{
		Auth: callers(), Logger: slog.New(slog.NewJSONHandler(&written, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Extra: []func(*api.API){func(a *api.API) {
			for id, may := range map[string]access.Permission{"act": {Verb: access.Operate, Kind: access.Runs}, "work": {Verb: access.Work, Kind: access.Workers}} {
				api.Add(a, api.Operation{ID: id, Method: http.MethodPost, Path: "/leases/{lease}/" + id, May: may, Summary: "Act"},
					func(context.Context, *api.Call, *struct {
						Lease string `path:"lease"`
					},
					) (struct{}, error) {
						return struct{}{}, nil
					})
			}
		}},
	}).Handler()
	type line struct {
		Level, Msg, Who, Via, Auth, Address, Operation string
		Status                                         int
		Duration                                       int64
	}
	for _, row := range []struct {
		who, method, path string
		header            []string
		want              line
	}{
		{"operator", "POST", "/leases/SECRET/act", nil, line{Level: "INFO", Who: "operator", Via: "api", Auth: "key", Operation: "act", Status: 200}},
		{"viewer", "POST", "/leases/SECRET/act", nil, line{Level: "INFO", Who: "viewer", Via: "api", Auth: "key", Operation: "act", Status: 403}},
		{"viewer", "GET", "/keys?x=SECRET", nil, line{Level: "INFO", Who: "viewer", Via: "api", Auth: "key", Operation: "list-keys", Status: 403}},
		{"", "GET", "/me?x=SECRET", nil, line{Level: "INFO", Via: "api", Operation: "GET /api/v1/me", Status: 401}},
		{"admin", "POST", "/leases/SECRET/act", []string{"Origin", "https://SECRET.example"}, line{Level: "INFO", Via: "api", Operation: "POST /api/v1/leases/…/act", Status: 403}},
		{"admin", "GET", "/me?x=SECRET", []string{"Authorization", "SECRET"}, line{Level: "DEBUG", Who: "admin", Via: "api", Auth: "key", Operation: "get-me", Status: 422}},
		{"worker", "POST", "/leases/SECRET/work", nil, line{Level: "DEBUG", Who: "worker", Via: "gateway", Auth: "key", Operation: "work", Status: 200}},
	} {
		written.Reset()
		ask(t, handler, row.who, row.method, api.Prefix+row.path, "", row.header...)
		lines := strings.Split(strings.TrimSpace(written.String()), "\n")
		var got line
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
		assert.Equal(t, "access", got.Msg)
		assert.Positive(t, got.Duration+1)
		assert.Equal(t, "192.0.2.1", got.Address)
		got.Msg, got.Address, got.Duration = "", "", 0
		assert.Equal(t, row.want, got, row.path)
		assert.NotContains(t, written.String(), "SECRET")
	}
}

// A refusal is recorded with the interface that was used.
func TestDenialsSayByWhichWay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bare            bool
		who, path, said string
	}{
		{false, "viewer", "/act", "api"},
		{false, "viewer", "/act", "console"},
		{false, "viewer", "/work", "gateway"},
		{true, "viewer", "/act", "gateway"},
		{true, "viewer", "/work", "gateway"},
	} {
		var denied []string
		handler := api.New(api.Options{
			Bare: row.bare, Auth: callers(), Denied: func(c api.Caller, operation string) { denied = append(denied, c.Name+" "+operation+" "+c.Via) },
			Extra: []func(*api.API){func(a *api.API) {
				for id, may := range map[string]access.Permission{"act": {Verb: access.Operate, Kind: access.Runs}, "work": {Verb: access.Work, Kind: access.Workers}} {
					api.Add(a, api.Operation{ID: id, Method: http.MethodPost, Path: "/" + id, May: may, Summary: "Act"}, nothing)
				}
			}},
		}).Handler()
		var header []string
		if row.said == "console" {
			header = []string{api.ViaHeader, "console"}
		}
		assert.Equal(t, http.StatusForbidden, ask(t, handler, row.who, http.MethodPost, api.Prefix+row.path, "", header...).Code)
		assert.Equal(t, []string{row.who + " " + strings.TrimPrefix(row.path, "/") + " " + row.said}, denied)
	}
}
