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
	assert.Equal(t, "7 in all: a, b, c, d, e and 2 more", found.Found)
	assert.Contains(t, found.Fix, "roundsman status")
	assert.Contains(t, needsCheck(nil, errors.New("no answer")).Found, "no answer")
}

// A finding is listed if each of its workers needs a person.
func TestListedFindings(t *testing.T) {
	t.Parallel()
	worker := func(id string) contract.WorkerDetail {
		return contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: id}, State: contract.WorkerCordoned, Fresh: true}
	}
	checks := []Check{checkWorkers([]contract.WorkerDetail{worker("a"), worker("b")}), {Name: "clocks", Verdict: VerdictWarn}}
	needs := []explain.Need{{Kind: "worker", Name: "a"}, {Kind: "job type", Name: "b"}}
	markListed(checks, needs)
	assert.False(t, checks[0].Listed, "b is a job type there")
	markListed(checks, append(needs, explain.Need{Kind: "worker", Name: "b"}))
	assert.Equal(t, []bool{true, false}, []bool{checks[0].Listed, checks[1].Listed})
}
