package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The text is for people; the problem's holder has the exact times.
func TestWhoHasAnIDIsToldInSeconds(t *testing.T) {
	t.Parallel()
	holder := &contract.RegisteredOther{Host: "vm", PID: 7, Age: jobtype.Duration(32212196103), SinceBeat: jobtype.Duration(3 * time.Second)}
	refused := inUse("press-7", holder)
	assert.Equal(t, "process 7 on host vm has the id press-7, registered 32s ago, last heartbeat at most 3s ago", refused.Message)
	assert.Equal(t, holder, refused.Holder)
	assert.GreaterOrEqual(t, refused.RetryAfter, time.Second)
}
