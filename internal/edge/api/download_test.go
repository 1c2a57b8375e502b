package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/starter"
)

// The slow worker answers each part of slowParts just before it would count as silent: over 30 s in all.
const slowParts, slowPart, slowly = 30, 8 << 10, 2 * time.Second

// slow has one run with a job on a slow worker. Its output and its artifact have `left` parts.
type slow struct {
	entities

	left int64
}

func (slow) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "group/scrub-x"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (s slow) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	end := s.left * slowPart
	var offset int64
	switch in := r.Args[0].(type) {
	case contract.LogQueryInput:
		offset = in.Offset
	case contract.ArtifactQueryInput:
		offset = in.Offset
	}
	if offset > 0 && offset == end && s.left < slowParts {
		return nil, errors.New("no process polls")
	}
	part := strings.Repeat("x", slowPart)
	if offset == slowParts*slowPart {
		part = ""
	}
	known := entities{answers: map[string]func(any) any{
		contract.QueryJobs: func(any) any {
			return contract.JobsQueryResult{Total: 1, Jobs: []contract.JobView{{JobID: "job-00001", State: contract.JobRunning, Worker: "node-a", Attempt: 1}}}
		},
		contract.QueryLog: func(any) any {
			time.Sleep(slowly)
			return contract.LogQueryResult{Known: true, Offset: offset, Next: offset + int64(len(part)), Text: part}
		},
		contract.QueryArtifact: func(input any) any {
			if in, _ := input.(contract.ArtifactQueryInput); in.Name == "" {
				return contract.ArtifactQueryResult{Artifacts: []contract.Artifact{{Name: "report", Size: slowParts * slowPart}}}
			}
			time.Sleep(slowly)
			return contract.ArtifactQueryResult{Known: true, Data: []byte(part)}
		},
	}}
	return known.QueryWorkflowWithOptions(ctx, r)
}

// unreadable is a history that the server does not return.
type unreadable struct{}

func (unreadable) HasNext() bool                          { return true }
func (unreadable) Next() (*historypb.HistoryEvent, error) { return nil, errors.New("no history") }

func (slow) GetWorkflowHistory(context.Context, string, string, bool, enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return unreadable{}
}

// downloaded returns the body that a client got, and its error.
func (s slow) downloaded(t *testing.T, path string) (head http.Header, body []byte, err error) {
	t.Helper()
	handler := api.New(api.Options{Auth: callers(), Client: starter.New(s, "", nil)}).Handler()
	listener := make(pipes)
	server := &http.Server{Handler: handler, ReadTimeout: 30 * time.Second}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.dial, DisableCompression: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+api.Prefix+"/runs/scrub-x/items/job-00001"+path, http.NoBody)
	require.NoError(t, err)
	request.Header = http.Header{"Who": {"admin"}, "Accept-Encoding": {"gzip"}}
	answer, err := transport.RoundTrip(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body, err = io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	transport.CloseIdleConnections()
	close(listener)
	require.NoError(t, server.Close())
	return answer.Header, body, err
}

const artifactPath, outputPath = "/artifacts/content?name=report", "/output/text"

// A read timeout ends no download, and none is sent as a whole that is not.
func TestSlowDownloads(t *testing.T) {
	t.Parallel()
	whole := bytes.Repeat([]byte("x"), slowParts*slowPart)
	for _, path := range []string{artifactPath, outputPath} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			head, body, err := slow{left: slowParts}.downloaded(t, path)
			require.NoError(t, err, path)
			assert.True(t, bytes.Equal(whole, body), "%s: %d bytes", path, len(body))
			assert.Greater(t, time.Since(began), 45*time.Second, path)
			assert.Empty(t, head.Get("ETag"), path)
			assert.Equal(t, "no-store", head.Get("Cache-Control"), path)
		})
	}
}

func TestDownloadsThatEndEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, body, err := slow{left: 2}.downloaded(t, artifactPath)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", len(body))
	})
	synctest.Test(t, func(t *testing.T) {
		_, body, err := slow{left: 2}.downloaded(t, outputPath)
		require.NoError(t, err)
		text, note, _ := strings.Cut(string(body), "\n")
		assert.Len(t, text, 2*slowPart)
		assert.Regexp(t, `^\[the rest is missing: .*no history`, note)
	})
}
