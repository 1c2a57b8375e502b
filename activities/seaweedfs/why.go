package seaweedfs

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/jobtype"
)

func explain(out jobtype.ProposalSink, left []plan.Left) {
	for _, l := range left {
		jobtype.Explain(out, leftText(l))
	}
}

func leftText(l plan.Left) string {
	volumes := counted(l.Count, "volume")
	switch l.Obstacle {
	case plan.FewServers:
		return fmt.Sprintf("%s%s, at least %.0f are needed", onDisks(l.DiskType), counted(l.Count, "server"), l.Limit)
	case plan.NoVolumes:
		return onDisks(l.DiskType) + "there are no volumes"
	case plan.NoShards:
		return "there are no shards"
	case plan.FilteredOut:
		return volumes + " left out by the filters"
	case plan.OnRemote:
		return volumes + " on remote storage"
	case plan.NoGarbage:
		return volumes + " without garbage"
	case plan.LittleGarbage:
		return fmt.Sprintf("%s below garbage_threshold %g; the most garbage has volume %d: %.2f", volumes, l.Limit, l.Volume, l.Best)
	case plan.Young:
		return volumes + " younger than min_volume_age_seconds"
	case plan.Recent:
		return fmt.Sprintf("%s not quiet for %s; volume %d is for %s", volumes, seconds(l.Limit), l.Volume, seconds(l.Best))
	case plan.HasShards:
		return volumes + " with shards already"
	case plan.MissingReplica:
		return volumes + " without all replicas: run `volume.fix.replication`"
	case plan.Small:
		return fmt.Sprintf("%s smaller than %s; the largest is volume %d: %s", volumes, mebibytes(l.Limit), l.Volume, mebibytes(l.Best))
	case plan.NotFull:
		return fmt.Sprintf("%s below fullness_ratio %g; the fullest is volume %d: %.2f", volumes, l.Limit, l.Volume, l.Best)
	case plan.NoRoom:
		return onDisks(l.DiskType) + "no server has room"
	case plan.Balanced:
		text := fmt.Sprintf("%s%s are in balance", onDisks(l.DiskType), counted(l.Count, "server"))
		if l.Best > 0 {
			text += fmt.Sprintf(": %.2f is not above imbalance_threshold %g", l.Best, l.Limit)
		}
		return text
	case plan.NoBetterPlace:
		return fmt.Sprintf("%sthe imbalance is %.2f, but no move of %s improves it within placement, filters and room", onDisks(l.DiskType), l.Best, volumes)
	}
	return string(l.Obstacle)
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// onDisks names a type of disk. SeaweedFS's empty type is hdd.
func onDisks(diskType string) string {
	if diskType == "" {
		return ""
	}
	return diskType + " disks: "
}

func seconds(n float64) time.Duration { return time.Duration(n) * time.Second }

func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/(1<<20)) }
