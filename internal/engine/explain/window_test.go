package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestClosedCalendars(t *testing.T) {
	t.Parallel()
	outside, freeze := contract.Closure{Code: contract.ClosedOutside}, contract.Closure{Code: contract.ClosedBlackout, Note: "freeze"}
	assert.Empty(t, Closed("scrub", contract.Closure{}, "night", contract.Closure{}))
	assert.Equal(t, "job type scrub: outside its windows; lane night: a blackout: freeze", Closed("scrub", outside, "night", freeze))
}
