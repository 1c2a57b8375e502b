package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter/holds"
)

func TestAThingWithTwoHoldsIsNamedOnce(t *testing.T) {
	t.Parallel()
	listed := []holds.Hold{{Kind: holds.Pause, Ref: "scrub"}, {Kind: holds.Pause, Ref: "fsck"}, {Kind: holds.Budget, Ref: "scrub"}}
	assert.Equal(t, []string{"scrub", "fsck"}, held(listed))
}
