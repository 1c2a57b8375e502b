package audit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func withFormer(object string, size int) contract.AuditEntry {
	entry := operator("ann", "apply.update", object)
	entry.Former = make([]byte, size)
	for i := range entry.Former {
		entry.Former[i] = byte(rand.Uint32()) //nolint:gosec // bytes that do not compress
	}
	return entry
}

func TestFormerSettingsAreForThoseThatAsk(t *testing.T) {
	t.Parallel()
	l := New(0)
	kept, long := withFormer("a", 100), withFormer("b", contract.MaxFormer+1)
	l.Record(zero, kept, long)
	page := l.Page(contract.AuditFilter{})
	assert.Equal(t, []bool{true, false}, []bool{page.Entries[0].Restorable, page.Entries[1].Restorable}, "a part of what is too long says nothing")
	assert.Empty(t, page.Entries[0].Former)
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	restored, err := Decode(encoded)
	require.NoError(t, err)
	page = restored.Page(contract.AuditFilter{Former: true, Limit: 2})
	assert.Equal(t, kept.Former, page.Entries[0].Former)
	assert.False(t, page.Entries[0].Restorable)
}

func TestTheOldestFormerSettingsGoAndTheirEntriesStay(t *testing.T) {
	t.Parallel()
	const size, fit = contract.MaxFormer, MaxFormers / contract.MaxFormer
	l := New(0)
	for i := range fit + 3 {
		l.Record(zero, withFormer(fmt.Sprint(i), size))
	}
	l.Record(zero, operator("ann", "run.cancel", "x"))
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	restored, err := Decode(encoded)
	require.NoError(t, err)
	for _, log := range []*Log{l, restored} {
		entries := log.Page(contract.AuditFilter{}).Entries
		require.Len(t, entries, fit+4)
		assert.Zero(t, log.Dropped(), "no entry goes for another's former settings")
		for i, entry := range entries {
			assert.Equal(t, i >= 3 && i < fit+3, entry.Restorable, i)
		}
		assert.Equal(t, MaxFormers, log.formers)
	}
	l.SetLimit(1)
	assert.Zero(t, l.formers)
	assert.Equal(t, weight(l.entries[0]), l.bytes)
}
