package rpc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
)

// TestSlowCallsThatAreBriefByNature show an absent server; a long poll does not.
func TestSlowCallsThatAreBriefByNature(t *testing.T) {
	t.Parallel()
	assert.True(t, isAway("/service/RecordActivityTaskHeartbeat", codes.OK, slowCall+1))
	assert.False(t, isAway("/service/RecordActivityTaskHeartbeat", codes.OK, slowCall))
	assert.False(t, isAway("/service/PollActivityTaskQueue", codes.OK, time.Minute))
}
