package history_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/history"
	"github.com/roundsman/roundsman/jobtype"
)

const serverLimit = 50 << 20

// TestRoomIsNeverOverdrawn: however much attempts carry and return, a history that
// starts them while there is room stays below the server's limit.
func TestRoomIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	for _, carries := range []int{0, 1 << 10, 100 << 10, 1 << 20} {
		var room history.Room
		bytes, inFlight, started := 0, 0, 0
		for {
			room.Observe(bytes, 0, inFlight)
			for inFlight < 500 && !room.Full() {
				room.Take(carries)
				inFlight++
				started++
				bytes += carries + 1<<10
			}
			if inFlight == 0 {
				break
			}
			inFlight--
			bytes += jobtype.MaxResultBytes + 2<<10
		}
		assert.Less(t, bytes, serverLimit, "%d bytes each", carries)
		assert.Greater(t, bytes, 40<<20, "most of the room is used: %d attempts of %d bytes", started, carries)
	}
}

func TestWhatIsOrderedCounts(t *testing.T) {
	t.Parallel()
	var room history.Room
	room.Observe(10<<20, 0, 100)
	assert.False(t, room.Full())
	room.Observe(10<<20, 40<<20, 0)
	assert.True(t, room.Full())
	room.Observe(40<<20, 0, 500)
	assert.True(t, room.Full(), "their ends will need it")
}
