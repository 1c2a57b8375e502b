package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/starter/keys"
)

// Times without trailing zeros would sort wrongly.
func TestPagesOfKeysLeaveNoneOut(t *testing.T) {
	t.Parallel()
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []keys.Key
	for _, each := range []time.Duration{0, 100 * time.Millisecond, 110 * time.Millisecond, 111 * time.Millisecond, time.Second} {
		all = append(all, keys.Key{ID: "k" + each.String(), CreatedAt: second.Add(each)})
	}
	call, in, seen := &Call{api: New(Options{})}, Listing{Limit: 1}, []keys.Key(nil)
	for range all {
		kept, page, err := Cut(call, "keys", in, all, keyPosition)
		require.NoError(t, err)
		assert.Equal(t, len(all), page.Total)
		seen, in.Cursor = append(seen, kept...), page.Next
	}
	assert.Equal(t, all, seen)
	assert.Empty(t, in.Cursor)
	_, _, err := Cut(call, "workers", Listing{Limit: 1, Cursor: call.api.cursors.At("keys", "x")}, all, keyPosition)
	assert.ErrorContains(t, err, "BAD_CURSOR")
}

func TestPreferWait(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "wait=3": 3 * time.Second, "respond-async, wait=3": 3 * time.Second, "return=minimal; wait=70": time.Minute,
		"wait=0": 0, "wait=-1": 0, "wait=x": 0, "waiting=3": 0, "wait=9999999999999999999": 0, "wait=9223372037": time.Minute, "wait=18446744074": time.Minute,
	} {
		assert.Equal(t, want, waitWanted(header), header)
	}
}

// While admission does not answer, its lists are as old as the answer that they have.
func TestListsOfAdmissionHaveTheirAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, began, silent := New(Options{}), time.Now().UTC(), error(nil)
		a.known.admission = feed.NewSource(func(context.Context) (contract.AdmissionView, error) {
			return contract.AdmissionView{LaneCount: 1, PoolCount: 1, ObjectCount: 1}, silent
		})
		in := &struct{ Listing }{Listing{Limit: mostUses}}
		for _, after := range []time.Duration{0, 50 * time.Second} {
			time.Sleep(after)
			call := &Call{api: a}
			lanes, err := a.listLanes(t.Context(), call, in)
			require.NoError(t, err)
			pools, err := a.listPools(t.Context(), call, in)
			require.NoError(t, err)
			objects, err := a.listObjects(t.Context(), call, in)
			require.NoError(t, err)
			for _, page := range []Page{lanes.Page, pools.Page, objects.Page} {
				assert.Equal(t, began, page.AsOf)
				assert.Equal(t, 1, page.Total)
			}
			silent = errors.New("it does not answer")
		}
	})
}
