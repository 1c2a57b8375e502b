package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// A full disk has less than one part in scarceShare and less than scarceBytes left.
	scarceShare = 20
	scarceBytes = 1 << 30
	// diskEvery is the pause between checks of the data directory's disk.
	diskEvery   = 10 * time.Second
	diskTimeout = 10 * time.Second
)

type space struct {
	bytes, bytesLeft, files, filesLeft uint64
}

func (s space) scarce() string {
	switch {
	case s.bytes > 0 && s.bytesLeft < min(s.bytes/scarceShare, scarceBytes):
		return fmt.Sprintf("%d MiB of %d MiB are left", s.bytesLeft>>20, s.bytes>>20)
	case s.files > 0 && s.filesLeft < s.files/scarceShare:
		return fmt.Sprintf("%d of %d inodes are left", s.filesLeft, s.files)
	}
	return ""
}

// watchDisk reports a full disk repeatedly.
func (n *Node) watchDisk(ctx context.Context) {
	if n.options.DataDir == "" {
		return
	}
	var reported time.Time
	for {
		left, err := spaceOf(n.options.DataDir)
		if err == nil && left.scarce() != "" && time.Since(reported) >= contract.DiskReportTime {
			n.reportDisk(ctx, n.options.DataDir+": "+left.scarce())
			reported = time.Now()
		}
		if rpc.Wait(ctx, diskEvery) != nil {
			return
		}
	}
}

func (n *Node) reportDisk(ctx context.Context, detail string) {
	n.options.Logger.Warn("the disk of the data directory is full, or nearly", "worker", n.options.ID, "disk", detail)
	ctx, cancel := context.WithTimeout(ctx, diskTimeout)
	defer cancel()
	err := n.registry.registry.Trouble(ctx, contract.WorkerTroubleInput{Incarnation: n.registry.incarnation(), Code: contract.CodeDiskFull, Detail: detail})
	if err != nil {
		n.options.Logger.Warn("the full disk could not be reported", "worker", n.options.ID, "error", err)
	}
}
