package fakecluster

import "github.com/roundsman/roundsman/internal/seaweedfs/steps"

// Do carries out one call of a job in memory.
func Do(c *Cluster, call steps.Call) (answer steps.Answer, err error) {
	switch call.Op {
	case steps.Check:
		answer.Garbage, err = c.Check(call.Server, call.Volume)
	case steps.Compact:
		err = c.Compact(call.Server, call.Volume)
	case steps.Commit:
		answer.ReadOnly, err = c.Commit(call.Server, call.Volume)
	case steps.Cleanup:
		err = c.Cleanup(call.Server, call.Volume)
	case steps.MarkReadOnly:
		err = c.MarkReadOnly(call.Server, call.Volume, call.Persist)
	case steps.MarkWritable:
		err = c.MarkWritable(call.Server, call.Volume)
	case steps.Copy:
		answer.SinceNS, err = c.Copy(call.Server, call.Source, call.Volume)
	case steps.Tail:
		err = c.Tail(call.Server, call.Source, call.Volume, call.SinceNS)
	case steps.Delete:
		err = c.Delete(call.Server, call.Volume)
	case steps.EcGenerate:
		err = c.EcGenerate(call.Server, call.Volume, call.Collection)
	case steps.EcCopy:
		err = c.EcCopy(call.Server, call.Source, call.Volume, call.Shards, call.Disk)
	case steps.EcMount:
		err = c.EcMount(call.Server, call.Volume, call.Shards)
	case steps.EcUnmount:
		err = c.EcUnmount(call.Server, call.Volume, call.Shards)
	case steps.EcDelete:
		err = c.EcDelete(call.Server, call.Volume, call.Shards)
	}
	return answer, err
}
