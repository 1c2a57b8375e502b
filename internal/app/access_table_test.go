package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
)

const tableFile = "testdata/access.txt"

// identities are the columns of the table. "scoped" is an operator of scrub only, tested on scrub and on
// vacuum.
func identities() []string {
	return []string{"none", "viewer", "operator", "scoped/scrub", "scoped/vacuum", "admin", "worker"}
}

type byHeader map[string]access.Rights

func (b byHeader) Authenticate(r *http.Request) (api.Caller, error) {
	who, _, _ := strings.Cut(r.Header.Get("Who"), "/")
	rights, known := b[who]
	if !known {
		return api.Caller{}, problem.New(http.StatusUnauthorized, "", "not logged in")
	}
	return api.Caller{Name: who, Auth: "key", Rights: rights}, nil
}

// idle accepts connections and implements no other call.
type idle struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (idle) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func emptyServer(t *testing.T) *starter.Client {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, idle{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := starter.Dial(t.Context(), starter.Options{Address: listener.Addr().String(), HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// TestAccessTable sends a valid request to every operation as every identity. It compares the verdicts with
// testdata/access.txt, whose changes a person reviews. ROUNDSMAN_UPDATE=1 writes the file.
func TestAccessTable(t *testing.T) {
	t.Parallel()
	var roles access.Policy
	built := api.New(api.Options{
		Client: emptyServer(t), Extra: extraOperations(nil, false),
		Auth: byHeader{
			"viewer": roles.Grant(access.Viewer, nil, nil), "operator": roles.Grant(access.Operator, nil, nil), "admin": roles.Grant(access.Admin, nil, nil),
			"scoped": roles.Grant(access.Operator, []string{"scrub"}, nil), "worker": roles.Grant(access.Worker, nil, nil),
		},
	})
	handler := built.Handler()
	var rows []string
	for path, item := range built.OpenAPI().Paths {
		for method, operation := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if operation == nil {
				continue
			}
			declared, _ := operation.Extensions[api.PermissionExtension].(string)
			_, err := access.ParsePermission(declared)
			require.NoError(t, err, "%s %s declares no permission", method, path)
			row := fmt.Sprintf("%-6s %-36s %-20s", method, path, declared)
			for _, who := range identities() {
				_, about, _ := strings.Cut(who, "/")
				row += fmt.Sprintf(" %-3s", verdict(t, handler, who, requestTo(t, built.OpenAPI(), method, path, operation, about)))
			}
			rows = append(rows, strings.TrimRight(row, " "))
		}
	}
	slices.Sort(rows)
	made := fmt.Sprintf("%-64s %s\n%s\n", "# operation, permission", strings.Join(identities(), " "), strings.Join(rows, "\n"))
	if os.Getenv("ROUNDSMAN_UPDATE") != "" {
		require.NoError(t, os.WriteFile(tableFile, []byte(made), 0o600))
	}
	kept, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	assert.Equal(t, string(kept), made, "run ROUNDSMAN_UPDATE=1 go test ./internal/app -run TestAccessTable, and read what has changed")
}

// verdict returns 401, 403, or ok for a request that reached its operation. Without a gateway the operations
// of workers panic, which counts as ok.
func verdict(t *testing.T, handler http.Handler, who string, r *http.Request) (seen string) {
	t.Helper()
	defer func() {
		if recover() != nil {
			seen = "ok"
		}
	}()
	r.Header.Set("Who", who)
	recorded := httptest.NewRecorder()
	handler.ServeHTTP(recorded, r)
	switch recorded.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if strings.Contains(recorded.Body.String(), string(gateway.CodeBadToken)) {
			return "ok" // The operation itself checks the token of a worker.
		}
		return strconv.Itoa(recorded.Code)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		// A request refused by huma did not reach the check of its scope.
		for _, place := range []string{`"location":"body`, `"location":"query`, `"location":"path`} {
			require.NotContains(t, recorded.Body.String(), place, "%s %s: the test must send a valid request", r.Method, r.URL)
		}
	}
	return "ok"
}

// requestTo returns the smallest valid request to an operation about a job type.
func requestTo(t *testing.T, document *huma.OpenAPI, method, path string, operation *huma.Operation, about string) *http.Request {
	t.Helper()
	if about == "" {
		about = "scrub"
	}
	given, query := map[string]string{"name": about, "run": about + "-2026-11-22T01:00:00Z", "thing": "group/" + about, "topic": "audit"}, url.Values{}
	for _, parameter := range operation.Parameters {
		value := given[parameter.Name]
		if value == "" {
			value = "a"
		}
		switch {
		case parameter.In == "path":
			path = strings.ReplaceAll(path, "{"+parameter.Name+"}", url.PathEscape(value))
		case parameter.In == "query" && parameter.Required:
			query.Set(parameter.Name, value)
		}
	}
	body := ""
	if operation.RequestBody != nil {
		encoded, err := json.Marshal(smallest(document, operation.RequestBody.Content["application/json"].Schema))
		require.NoError(t, err)
		body = string(encoded)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if t.Cleanup(cancel); operation.OperationID == "watch-events" {
		cancel() // The stream would not end.
	}
	r := httptest.NewRequestWithContext(ctx, method, api.Prefix+path+"?"+query.Encode(), strings.NewReader(body))
	r.Host = "localhost"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// smallest returns a value of a schema with its required parts only.
func smallest(document *huma.OpenAPI, schema *huma.Schema) any {
	if schema.Ref != "" {
		schema = document.Components.Schemas.SchemaFromRef(schema.Ref)
	}
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type == huma.TypeObject:
		made := map[string]any{}
		for _, name := range schema.Required {
			made[name] = smallest(document, schema.Properties[name])
		}
		return made
	case schema.Type == huma.TypeArray:
		made := []any{}
		for range deref(schema.MinItems) {
			made = append(made, smallest(document, schema.Items))
		}
		return made
	case schema.Type == huma.TypeInteger, schema.Type == huma.TypeNumber:
		if schema.Minimum != nil {
			return *schema.Minimum
		}
		return 0
	case schema.Type == huma.TypeBoolean:
		return false
	case schema.Format == "date-time":
		return "2026-11-22T01:00:00Z"
	case schema.Type == huma.TypeString:
		return strings.Repeat("1", max(1, deref(schema.MinLength)))
	}
	return map[string]any{}
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
