package admission

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHolderWithoutConfigurationLeavesSizesAlone: a run of a DAG names pools without their
// sizes.
func TestHolderWithoutConfigurationLeavesSizesAlone(t *testing.T) {
	t.Parallel()
	p := ready()
	sizeless := func(who string, n int) []Decision {
		return p.step(Requested{Holder: group(who), JobType: who, Items: []Request{{ID: "a.1", Pools: []Amount{{Pool: "db", N: n}}}}})
	}
	assert.Equal(t, []string{"large TOO_LARGE"}, told(sizeless("large", 2)), "a pool that nobody declares has 1")
	assert.Equal(t, []string{"group granted"}, told(p.ask("group", db(3))))
	assert.Equal(t, []string{"run granted"}, told(sizeless("run", 2)), "the size of 5 holds for it too")
	assert.Empty(t, sizeless("other", 1))
	assert.Equal(t, []string{"other granted"}, told(p.release("group")))
	assert.Equal(t, 5, p.d.View(everything{}).Pools[0].Size)
}
