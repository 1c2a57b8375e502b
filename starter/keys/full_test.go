package keys

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// maxArgument is the server's limit for an argument, in bytes.
const maxArgument = 2 << 20

// limited is a server that refuses a large argument. It has no audit log.
type limited struct{ silent }

func (l *limited) WorkflowService() workflowservice.WorkflowServiceClient {
	return limitedCalls{silentCalls{server: &l.silent}}
}

type limitedCalls struct{ silentCalls }

func (c limitedCalls) UpdateSchedule(_ context.Context, in *workflowservice.UpdateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.UpdateScheduleResponse, error) {
	input := in.GetSchedule().GetAction().GetStartWorkflow().GetInput()
	if len(input.GetPayloads()[0].GetData()) > maxArgument {
		return nil, serviceerror.NewInvalidArgument("the argument is too large")
	}
	var next record
	err := starter.DataConverter().FromPayloads(input, &next)
	c.server.held = next
	return &workflowservice.UpdateScheduleResponse{}, err
}

// noise is a text that no codec compresses.
func noise(length int) string {
	var text strings.Builder
	for text.Len() < length {
		_, secret := newSecret()
		text.WriteString(strings.TrimPrefix(secret, Prefix))
	}
	return text.String()[:length]
}

// TestKeysCanAlwaysBeRevoked: the last keys that fit must not fill the argument, since a revocation adds to it.
func TestKeysCanAlwaysBeRevoked(t *testing.T) {
	t.Parallel()
	server := &limited{}
	store := New(starter.New(server, "", nil))
	wanted := Key{Name: "ci", Role: "viewer", JobTypes: []string{noise(100_000)}}
	var made []string
	for refused := false; !refused; {
		require.Less(t, len(made), Most)
		key, _, err := store.Create(t.Context(), wanted, "ann")
		if refused = err != nil; refused {
			var full *starter.RefusedError
			require.ErrorAs(t, err, &full)
			break
		}
		made = append(made, key.ID)
	}
	require.NotEmpty(t, made)
	for _, id := range made {
		_, err := store.Revoke(t.Context(), id, strings.Repeat("ann", 60))
		require.NoError(t, err)
	}
	key, secret, err := store.Create(t.Context(), wanted, "ann")
	require.NoError(t, err, "revoked keys make room")
	found, err := match(server.held.Keys, secret, time.Now())
	require.NoError(t, err)
	assert.Equal(t, key.ID, found.ID)
}

// TestOnlyInvalidKeysMakeRoom for another one.
func TestOnlyInvalidKeysMakeRoom(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	full := func(edit func(i int, key *Key)) *record {
		held := &record{}
		for i := range Most {
			key := Key{ID: fmt.Sprint("k", i), Name: "ci", Role: "viewer"}
			edit(i, &key)
			held.Keys = append(held.Keys, stored{Key: key})
		}
		return held
	}
	next := stored{Key{ID: "next", Name: "next", CreatedAt: now, ExpiresAt: now}, "sum"} // It has expired already.
	for name, c := range map[string]struct {
		edit func(i int, key *Key)
		left int
	}{
		"valid":              {func(int, *Key) {}, 0},
		"one is revoked":     {func(i int, key *Key) { key.RevokedAt = map[bool]time.Time{true: now}[i == 7] }, Most},
		"all have expired":   {func(_ int, key *Key) { key.ExpiresAt = now }, 1},
		"they expire later":  {func(_ int, key *Key) { key.ExpiresAt = now.Add(time.Nanosecond) }, 0},
		"a half has expired": {func(i int, key *Key) { key.ExpiresAt = map[bool]time.Time{true: now}[i%2 == 0] }, Most/2 + 1},
	} {
		held := full(c.edit)
		err := held.add(next)
		if c.left == 0 {
			require.ErrorContains(t, err, "revoke some", name)
			assert.Len(t, held.Keys, Most, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Len(t, held.Keys, c.left, name)
		assert.True(t, held.has("next"), name)
	}
}
