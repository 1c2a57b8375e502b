package joblogs

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// keeper is a worker that keeps one file, and answers in parts of at most three bytes. It forgets the file after some of them.
type keeper struct {
	client.Client

	content string
	parts   int
	asked   []contract.ArtifactQueryInput
}

func (k *keeper) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	query := in.Args[0].(contract.ArtifactQueryInput) //nolint:errcheck,forcetypeassert // as the client sends it
	k.asked = append(k.asked, query)
	answer := contract.ArtifactQueryResult{Known: len(k.asked) <= k.parts}
	if answer.Known {
		answer.Data = []byte(k.content[query.Offset:min(int(query.Offset)+3, len(k.content))])
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestAnArtifactIsCopiedInParts until all of it is there, or the worker has deleted it.
func TestAnArtifactIsCopiedInParts(t *testing.T) {
	t.Parallel()
	list := Artifacts{Worker: "n1", Attempt: 2, ref: starter.ItemRef{Run: starter.RunRef{WorkflowID: "group/scrub-1"}, ID: "job-00001"}}
	file := contract.Artifact{Name: "report", Size: 7}
	for parts, want := range map[int]string{3: "", 2: "artifact report: worker n1 has deleted it: 6 of 7 bytes were read", 0: "0 of 7 bytes were read"} {
		server := &keeper{content: "content", parts: parts}
		var copied bytes.Buffer
		err := list.Write(t.Context(), starter.New(server, "", nil), file, &copied)
		assert.Equal(t, "content"[:min(3*parts, 7)], copied.String())
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		query := contract.ArtifactQueryInput{GroupID: "group/scrub-1", JobID: "job-00001", Attempt: 2, Name: "report"}
		for k, asked := range server.asked {
			query.Offset = int64(3 * k)
			assert.Equal(t, query, asked)
		}
		assert.Len(t, server.asked, 3)
	}
	require.ErrorContains(t, list.Write(t.Context(), starter.New(&keeper{content: "content", parts: 9}, "", nil), file, full{}), "disk full")
	require.NoError(t, list.Write(t.Context(), nil, contract.Artifact{Name: "empty"}, full{}), "nothing is copied")
}

// TestAnArtifactIsFoundIfItsContentIsKept.
func TestAnArtifactIsFoundIfItsContentIsKept(t *testing.T) {
	t.Parallel()
	list := Artifacts{Attempt: 2, Artifacts: []contract.Artifact{{Name: "a"}, {Name: "b", Error: "larger than 64 MiB"}, {Name: "c", Size: 3}}}
	found, err := list.Find("c")
	require.NoError(t, err)
	assert.Equal(t, int64(3), found.Size)
	_, err = list.Find("b")
	require.ErrorContains(t, err, "artifact b of attempt 2 does not exist: larger than 64 MiB")
	_, err = list.Find("d")
	require.ErrorIs(t, err, starter.ErrNotFound)
	require.ErrorContains(t, err, "--artifacts")
}
