package seaweedfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/jobtype"
)

func endError(volume uint32, end steps.End) error {
	if end.OK {
		return nil
	}
	text := code(end.Code) + ": volume " + fmt.Sprint(volume) + " " + endCause(end)
	if left := leftovers(volume, end.Left); left != "" {
		text += "; left behind: " + left
	}
	err := errors.New(text)
	if end.Final {
		return jobtype.Permanent(err)
	}
	return err
}

func code(c steps.Code) string {
	return strings.ToUpper(strings.ReplaceAll(string(c), "-", "_"))
}

func endCause(end steps.End) string {
	switch end.Code {
	case steps.CannotRead:
		return with("cannot be read on "+end.Server, end.Cause)
	case steps.CallFailed:
		return "was not changed: " + end.Cause
	case steps.VolumeGone:
		return with("is not on "+end.Server+" any more", end.Cause)
	case steps.TargetSmaller:
		return "has fewer bytes on " + end.Server + " than on its source: run `volume.check.disk`"
	case steps.TargetReadOnly:
		return "has a read-only copy on " + end.Server + " already"
	case steps.ReplicasDiffer:
		return "differs between " + end.Cause + " and " + end.Server + ": run `volume.check.disk`"
	case steps.FilesGone:
		return "has no files on " + end.Server + ", which only holds them open: copy it away before that server restarts"
	case steps.CopyUnfinished:
		return with("has an unfinished copy on "+end.Server+": if that server restarted since, delete its .note file", end.Cause)
	case steps.ShardsDiffer:
		return "has shards that were made of another state of it; compare them with `volume.list` before you delete any"
	case steps.ShardsMissing:
		return "lacks shards: run `ec.rebuild`"
	case steps.ReplicaWritable:
		return "became writable on " + end.Server + " while it was encoded"
	case steps.TooManySteps:
		return "did not settle"
	case steps.Stopped:
		return "was stopped: " + end.Cause
	case steps.Moved, steps.Completed, steps.Restored, steps.KeptSource, steps.Stale, steps.Vacuumed, steps.NoGarbage, steps.Encoded, steps.ShardMoved, steps.ShardPurged:
	}
	return end.Cause
}

func with(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ": " + cause
}

// A surplus copy comes first, because nothing else is safe before its removal.
func leftovers(volume uint32, left []steps.Leftover) string {
	var copies, texts []string
	for _, l := range left {
		switch l.Kind {
		case steps.LeftCopy:
			copies = append(copies, fmt.Sprintf("a copy on %s (`volume.check.disk -volumeId %d`, then `volume.fix.replication`)", l.Server, volume))
		case steps.LeftReadOnly:
			if slices.Contains(left, steps.Leftover{Kind: steps.LeftCopy, Server: l.Server}) {
				continue // writable, the two copies would diverge
			}
			texts = append(texts, fmt.Sprintf("read-only on %s (`volume.mark -writable -volumeId %d -node %s`)", l.Server, volume, l.Server))
		case steps.LeftShards:
			texts = append(texts, fmt.Sprintf("shards on %s (`ec.balance`)", l.Server))
		case steps.LeftFiles:
			texts = append(texts, fmt.Sprintf("files of the replica on %s, which it does not load: delete before the next restart the .dat and .idx of volume %d in its directory", l.Server, volume))
		case steps.LeftHidden:
			texts = append(texts, fmt.Sprintf("a replica on %s, which it does not load: once volume %d is encoded, delete before the next restart its .dat and .idx there", l.Server, volume))
		}
	}
	return strings.Join(append(copies, texts...), ", ")
}

func summary(volume uint32, end steps.End) string {
	text := map[steps.Code]string{
		steps.Moved: "moved", steps.Completed: "its move is completed, which an earlier job had left", steps.Restored: "writable again, which a move without an end had made read-only", steps.KeptSource: "copied; the source stays, because a replica is missing", steps.Stale: "nothing to do any more",
		steps.Vacuumed: "vacuumed", steps.NoGarbage: "below the threshold", steps.Encoded: "encoded",
		steps.ShardMoved: "shard moved", steps.ShardPurged: "duplicate shard removed",
	}[end.Code]
	text = fmt.Sprintf("volume %d: %s", volume, text)
	if left := leftovers(volume, end.Left); left != "" {
		text += "; left behind: " + left
	}
	return text
}
