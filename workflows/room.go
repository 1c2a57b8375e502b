package workflows

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/internal/placement"
)

// collectRoom takes the words of workers that sent jobs back and have room again.
// It comes after the outcomes, which tell that they were sent back.
func (r *groupRun) collectRoom() {
	for {
		var in contract.WorkerRoomInput
		if !r.messages.room.ReceiveAsync(&in) {
			return
		}
		r.step(dispatch.WorkerHasRoom{ID: in.Worker, Instance: in.Instance, Load: roomOf(in)})
	}
}

func (r *dagRun) collectRoom(now time.Time) {
	for {
		var in contract.WorkerRoomInput
		if !r.messages.room.ReceiveAsync(&in) {
			return
		}
		r.carryOutAll(r.flow.Welcome(now, in.Worker, in.Instance, in.Handler, roomOf(in)))
	}
}

func roomOf(in contract.WorkerRoomInput) placement.Report {
	return placement.Report{At: in.At, Others: in.Others, OfHandler: in.OthersOfHandler}
}
