package spec

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
)

// TestNeedsAreReadOnce: every reference read all needs of its task, 10^8 names for 10,000 of both.
func TestNeedsAreReadOnce(t *testing.T) {
	t.Parallel()
	const n = 10_000
	read := 0
	names := func(from, to int) iter.Seq[string] {
		return func(yield func(string) bool) {
			for k := from; k < to; k++ {
				if read++; !yield(fmt.Sprintf("t%d", k)) {
					return
				}
			}
		}
	}
	u := &unit{declared: declared{fans: map[string]bool{"t1": true, fmt.Sprintf("t%d", n-1): true}}}
	m := mentionsOf(names(0, n/2), names(n/2, n))
	for k := range n {
		fault := u.checkNeed(gotemplate.Reference{Root: "Needs", Path: []string{fmt.Sprintf("t%d", k), "Result"}}, m)
		assert.Equal(t, k == 1, fault != "", "t%d: %s", k, fault)
	}
	assert.Len(t, m.used, n)
	for k := range 2 * maxSearches { // A wrong name reads them for a suggestion, a bounded number of times.
		fault := u.checkNeed(gotemplate.Reference{Root: "Needs", Path: []string{fmt.Sprintf("x%d", k)}}, m)
		assert.Equal(t, k >= maxSearches, strings.HasSuffix(fault, "check its spelling"), fault)
	}
	assert.Equal(t, n, read)
}
