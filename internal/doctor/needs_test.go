package doctor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// The check names the first states and counts the rest.
func TestNeedsCheck(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Check{Name: "needs a person", Verdict: VerdictOK, Found: "nothing"}, needsCheck(nil, nil))
	var needs []explain.Need
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		needs = append(needs, explain.Need{Name: name, Reason: explain.Reason{Code: contract.CodePaused}})
	}
	found := needsCheck(needs, nil)
	assert.Equal(t, VerdictWarn, found.Verdict)
	assert.Equal(t, "there are 7: a (PAUSED), b (PAUSED), c (PAUSED), d (PAUSED), e (PAUSED), 2 more", found.Found)
	assert.Contains(t, found.Fix, "roundsman status")
	assert.Contains(t, needsCheck(nil, errors.New("no answer")).Found, "no answer")
}
