package workers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestANameIsFoundOnALaterPage: admission lists 500 names of a kind at once, and the page around the name is requested.
func TestANameIsFoundOnALaterPage(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 2*mostNames + 1 {
		names = append(names, fmt.Sprintf("disk-%04d", i))
	}
	names = append(names, "\ue000", "\ue000b")
	reads := 0
	read := func(_ context.Context, filter contract.AdmissionFilter) (view contract.AdmissionView, _ error) {
		reads++
		view.Pools = []contract.AdmissionPool{{Name: "a"}}
		for _, name := range names {
			if name > filter.After && len(view.Objects) < filter.Limit {
				view.Objects = append(view.Objects, contract.AdmissionThing{Name: name})
			}
		}
		return view, nil
	}
	for _, row := range []struct {
		only  string
		reads int
		has   bool
	}{{"", 1, true}, {"object/disk-0003", 1, true}, {"object/disk-1000", 1, true}, {"object/disk-none", 1, false}, {"object/disk-", 1, false}, {"object/disk0", 1, false}, {"object/\ue000", 3, true}, {"object/\ue000b", 1, true}, {"object/", 1, false}, {"pool/disk-1000", 1, false}} {
		reads = 0
		view, err := pageWith(t.Context(), read, row.only)
		require.NoError(t, err)
		has := row.only == ""
		for _, l := range locksOf(view) {
			has = has || l.kind+"/"+l.name == row.only
		}
		assert.Equal(t, []any{row.reads, row.has}, []any{reads, has}, row.only)
	}
	_, err := pageWith(t.Context(), func(context.Context, contract.AdmissionFilter) (contract.AdmissionView, error) {
		return contract.AdmissionView{}, errors.New("no answer")
	}, "object/a")
	require.EqualError(t, err, "no answer")
}
