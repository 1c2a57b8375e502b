package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestUsageCountsWhatIsUsedAndWaitedFor(t *testing.T) {
	t.Parallel()
	p := ready()
	p.ask("first", needs([]string{"x"}, "db"))
	asked := p.now
	p.ask("second", needs([]string{"x"}))
	p.now = p.now.Add(time.Minute)
	p.ask("third", needs(nil, "db"))
	p.ask("lane-1", Request{ID: "turn", Lane: "repair"})
	p.ask("lane-2", Request{ID: "turn", Lane: "repair"})
	usage := p.d.Usage(p.now)
	assert.Equal(t, 3, usage.Waiting)
	assert.Equal(t, asked, usage.OldestAt)
	assert.Equal(t, []contract.PoolUsage{{Name: "db", Size: 1, Used: 1, Waiting: 1}}, usage.Pools)
	assert.Equal(t, []contract.LaneUsage{{Name: "repair", Busy: true, Waiting: 1, OldestAt: p.now}}, usage.Lanes)
}
