package dagrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/jobtype"
)

// maxContinues bounds the checkpoints of all tasks that continue after others.
const maxContinues = 512 << 10

// Checkpoints of tasks that continue after tasks they returned, until they succeed or are skipped.
type continues struct {
	of    map[dag.Index]json.RawMessage
	bytes int
}

func (c *continues) check(run *dag.Run, i dag.Index, d *spec.Deferral) error {
	size := len(d.Checkpoint)
	switch before, again := c.of[i]; {
	case size > jobtype.MaxCheckpointBytes:
		return fmt.Errorf("INVALID: the value of continue has %d bytes, the limit is %d: return a reference instead of the data", size, jobtype.MaxCheckpointBytes)
	case c.bytes-len(before)+size > maxContinues:
		return fmt.Errorf("INVALID: the values of continue of all tasks have more than %d bytes: return references instead of the data", maxContinues)
	case again && bytes.Equal(before, d.Checkpoint) && !brings(run, d.Growth):
		return errors.New("INVALID: it continued, and returned the same again, with no task that the run does not have: return other tasks, or none")
	}
	return nil
}

func brings(run *dag.Run, g *dag.Growth) bool {
	for k := range g.Tasks {
		if _, known := run.Lookup(g.Tasks[k].ID); !known {
			return true
		}
	}
	return false
}

func (c *continues) put(i dag.Index, checkpoint json.RawMessage) {
	c.drop(i)
	if c.of == nil {
		c.of = map[dag.Index]json.RawMessage{}
	}
	c.of[i] = checkpoint
	c.bytes += len(checkpoint)
}

func (c *continues) drop(i dag.Index) {
	c.bytes -= len(c.of[i])
	delete(c.of, i)
}

func (c *continues) follow(moves []dag.Transition) {
	if len(c.of) == 0 {
		return
	}
	for _, m := range moves {
		if satisfied(m.To) {
			c.drop(m.Task)
		}
	}
}
