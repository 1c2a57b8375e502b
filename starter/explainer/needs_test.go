package explainer

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// TestTypesHaveTheirHolds: each hold is read once, for any number of job types.
func TestTypesHaveTheirHolds(t *testing.T) {
	t.Parallel()
	const n = 1000
	types := make([]jobtypes.JobType, n)
	for k := range types {
		types[k].Name = strconv.Itoa(k)
	}
	read := 0
	things := typeThings(time.Time{}, types, nil, func(yield func(contract.AdmissionHold) bool) {
		for k := range n {
			for _, key := range []string{"a", "b"} {
				if read++; !yield(contract.AdmissionHold{JobType: strconv.Itoa(k % 10), DedupeKey: key + strconv.Itoa(k)}) {
					return
				}
			}
		}
	})
	assert.Equal(t, 2*n, read)
	require.Len(t, things, n)
	for k, thing := range things {
		assert.Equal(t, []string{KindJobType, types[k].Name, types[k].Name}, []string{thing.Kind, thing.Name, thing.JobType})
		assert.Equal(t, thing.Name, thing.Facts.Type.Name)
		want := 0
		if k < 10 {
			want = 200
		}
		require.Len(t, thing.Facts.Holds, want, thing.Name)
		for _, hold := range thing.Facts.Holds {
			require.Equal(t, thing.Name, hold.JobType)
		}
	}
}

// TestAReceiverHasItsOwnDeliveries that wait, the oldest first.
func TestAReceiverHasItsOwnDeliveries(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 2, minute, 0, 0, time.UTC) }
	receiver := func(name, kind string) (view contract.ReceiverView) {
		view.Name, view.Kind = name, kind
		return view
	}
	view := contract.NotificationsView{
		Receivers: []contract.ReceiverView{receiver("mail", "smtp"), receiver("chat", "webhook")},
		Deliveries: []contract.DeliveryView{
			{Receiver: "chat", State: contract.DeliveryWaiting, At: at(4)},
			{Receiver: "mail", State: contract.DeliveryWaiting, At: at(3)},
			{Receiver: "mail", State: contract.DeliveryDropped, At: at(2)},
			{Receiver: "mail", State: contract.DeliveryWaiting, At: at(1)},
		},
	}
	found := receiverIn(view, "mail")
	assert.Equal(t, "smtp", found.Kind)
	require.Len(t, found.Deliveries, 2)
	assert.Equal(t, []time.Time{at(1), at(3)}, []time.Time{found.Deliveries[0].At, found.Deliveries[1].At})
	gone := receiverIn(view, "pager")
	assert.Equal(t, explain.ReceiverFacts{ReceiverView: receiver("pager", ""), Deliveries: []contract.DeliveryView{}}, gone)
}
