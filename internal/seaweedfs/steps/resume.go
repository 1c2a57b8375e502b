package steps

import (
	"encoding/json"
	"fmt"
)

// Resume adds an earlier attempt's checkpoint to a job made from the current cluster. Servers of both are read again.
func Resume(job Job, checkpoint json.RawMessage) error {
	if len(checkpoint) == 0 {
		checkpoint = json.RawMessage(`{}`)
	}
	var err error
	switch now := job.(type) {
	case *Move:
		var then Move
		now.earlier = true
		if err = json.Unmarshal(checkpoint, &then); err == nil && then.Source == now.Source && then.Target == now.Target {
			now.moveProgress = then.moveProgress
		}
	case *Vacuum:
		var then Vacuum
		if err = json.Unmarshal(checkpoint, &then); err == nil {
			now.Writable, now.Seen, now.Compacting = then.Writable, then.Seen, then.Compacting
		}
	case *Encode:
		var then Encode
		now.earlier = true
		if err = json.Unmarshal(checkpoint, &then); err == nil {
			now.encodeProgress = then.encodeProgress
			now.Replicas = union(now.Replicas, then.Replicas)
			now.Holders = union(now.Holders, then.Holders)
			for _, target := range then.Targets {
				now.Holders = union(now.Holders, []string{target.Server})
			}
		}
	case *MoveShard:
		var then MoveShard
		now.earlier = true
		if err = json.Unmarshal(checkpoint, &then); err == nil && then.Source == now.Source && then.Target == now.Target {
			now.Copying, now.Unmounting = then.Copying, then.Unmounting
		}
	}
	if err != nil {
		return fmt.Errorf("the checkpoint of an earlier attempt cannot be read: %w", err)
	}
	return nil
}

func union(a, b []string) []string {
	for _, server := range b {
		found := false
		for _, known := range a {
			found = found || known == server
		}
		if !found {
			a = append(a, server)
		}
	}
	return a
}
