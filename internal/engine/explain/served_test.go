package explain

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func server(id, handler, away string, labels map[string]string, jobTypes ...string) Server {
	return Server{ID: id, Labels: labels, JobTypes: jobTypes, Capabilities: []contract.Capability{{Handler: handler}}, Away: away}
}

// TestTheMissingThingIsNamed: a worker that would not help hides nothing.
func TestTheMissingThingIsNamed(t *testing.T) {
	t.Parallel()
	storage := map[string]string{"role": "storage"}
	plain := server("a", "command", "", nil)
	for name, c := range map[string]struct {
		wanted  Wanted
		workers []Server
		lack    Lack
		says    string
	}{
		"served":             {Wanted{Handler: "command", Labels: storage}, []Server{plain, server("b", "command", "", storage)}, LackNone, ""},
		"no workers":         {Wanted{Handler: "command", Labels: storage}, nil, LackHandler, "NO_WORKER: no online worker has handler command; start a worker that has it; see `roundsman workers`"},
		"handler":            {Wanted{Handler: "scrub"}, []Server{plain}, LackHandler, "NO_WORKER: no online worker has handler scrub; start a worker that has it; see `roundsman workers`"},
		"label":              {Wanted{Handler: "command", Labels: storage}, []Server{plain, server("b", "command", "CORDONED", nil)}, LackLabel, "NO_WORKER: no online worker has label role=storage; `roundsman worker --id NAME --labels role=storage`"},
		"label elsewhere":    {Wanted{Handler: "command", Labels: storage}, []Server{plain, server("b", "scrub", "", storage)}, LackLabel, "NO_WORKER: no online worker with handler command has label role=storage"},
		"one of two labels":  {Wanted{Handler: "command", Labels: map[string]string{"role": "storage", "disk": "ssd"}}, []Server{server("b", "command", "", storage)}, LackLabel, "NO_WORKER: no online worker has label disk=ssd; `roundsman worker --id NAME --labels disk=ssd`"},
		"never both labels":  {Wanted{Handler: "command", Labels: map[string]string{"role": "storage", "disk": "ssd"}}, []Server{server("b", "command", "", storage), server("c", "command", "", map[string]string{"disk": "ssd"})}, LackLabel, "NO_WORKER: no online worker has labels disk=ssd, role=storage"},
		"none at all":        {Wanted{Labels: storage}, nil, LackHandler, "NO_WORKER: no worker is registered; `roundsman worker --id NAME`"},
		"any handler":        {Wanted{Labels: storage}, []Server{plain}, LackLabel, "NO_WORKER: no online worker has label role=storage; `roundsman worker --id NAME --labels role=storage`"},
		"job type":           {Wanted{Handler: "command", JobType: "copy"}, []Server{server("b", "command", "", nil, "other")}, LackJobType, "NO_WORKER: no online worker with handler command takes job type copy"},
		"command task":       {Wanted{Handler: "command"}, []Server{server("b", "command", "", nil, "other")}, LackJobType, "NO_WORKER: no online worker with handler command takes work outside its job types"},
		"state":              {Wanted{Handler: "command", Labels: storage}, []Server{plain, server("b", "command", "OFFLINE", storage)}, LackState, "NO_WORKER: no worker that could serve gets work: b is offline; `roundsman worker --id b`; see `roundsman show b`"},
		"node":               {Wanted{Handler: "command", Node: "zz"}, []Server{plain}, LackNode, "NO_WORKER: worker zz is not registered; `roundsman worker --id zz`"},
		"node's handler":     {Wanted{Handler: "scrub", Node: "a"}, []Server{plain, server("b", "scrub", "", nil)}, LackHandler, "NO_WORKER: worker a does not have handler scrub; start a worker that has it; see `roundsman workers`"},
		"node's label":       {Wanted{Handler: "command", Node: "a", Labels: storage}, []Server{plain, server("b", "command", "", storage)}, LackLabel, "NO_WORKER: worker a does not have label role=storage; `roundsman worker --id a --labels role=storage`"},
		"node's state":       {Wanted{Handler: "command", Node: "b"}, []Server{plain, server("b", "command", "DRAINING", nil)}, LackState, "NO_WORKER: worker b is draining; `roundsman resume b`; see `roundsman show b`"},
		"node takes another": {Wanted{Handler: "command", Node: "b", JobType: "copy"}, []Server{server("b", "command", "", nil, "other")}, LackJobType, "NO_WORKER: worker b does not take job type copy; start a worker without --job-types; see `roundsman workers`"},
	} {
		found := c.wanted.Shortage(c.workers)
		assert.Equal(t, c.lack, found.Lack, name)
		assert.Equal(t, c.says, found.String(), name)
		assert.LessOrEqual(t, utf8.RuneCountInString(found.String()), 120, name)
	}
}

// TestRegisteredWorkersThatGetNoWork: a removed worker is unknown; a silent or kept one could
// serve.
func TestRegisteredWorkersThatGetNoWork(t *testing.T) {
	t.Parallel()
	wanted := Wanted{Handler: "scrub"}
	silent := node("a", contract.WorkerOnline, false)
	for lack, workers := range map[Lack][]contract.WorkerDetail{
		LackNone:    {silent, node("b", contract.WorkerOnline, true)},
		LackState:   {silent, node("b", contract.WorkerUnreachable, true)},
		LackHandler: {node("b", contract.WorkerDeleted, true)},
	} {
		assert.Equal(t, lack, wanted.Missing(workers).Lack)
		assert.Equal(t, lack == LackNone, wanted.Served(workers))
	}
	assert.Equal(t, "no worker that could serve gets work: a is silent (no heartbeat for three intervals)", wanted.Missing([]contract.WorkerDetail{silent}).Text())
	assert.True(t, wanted.CapableOf(silent))
	assert.False(t, Wanted{Handler: "other"}.CapableOf(silent))
}
