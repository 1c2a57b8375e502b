package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/activities/seaweedfs"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// vacuumCall is the duration of a compaction, so that a vacuum takes the 144 ms measured on a real cluster.
const vacuumCall = 135 * time.Millisecond

// seaweedfsBench measures the handlers for SeaweedFS against fakes with its protocol.
func seaweedfsBench(ctx context.Context, b *bench) error {
	return errors.Join(weedDetection(ctx, b), weedVacuums(ctx, b), weedKill(ctx, b))
}

// weedDetection measures a vacuum detection over 100,000 volumes, and the growth of the process's memory, which includes
// that of the fake.
func weedDetection(ctx context.Context, b *bench) error {
	cluster := fakecluster.New(nil)
	for i := range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 8000+i)
		cluster.Add(fakecluster.Server{Address: address, DataCenter: "dc", Rack: fmt.Sprintf("r%d", i%10), Max: 2000})
		for k := range 1000 {
			deleted := 0
			if k%50 == 0 {
				deleted = 1
			}
			cluster.Put(fakecluster.Volume{ID: uint32(i*1000 + k + 1), Objects: 2, Deleted: deleted, ObjectSize: 1 << 20}, address) //nolint:gosec // small
		}
	}
	running, err := cluster.Serve(fakecluster.Options{})
	if err != nil {
		return err
	}
	defer running.Stop()
	block, err := json.Marshal(weed.Spec{Masters: []string{running.Master}})
	if err != nil {
		return err
	}
	connections := seaweedfs.NewConnections(weed.KeeperOptions{})
	defer connections.Close(ctx)
	var seconds, grown []float64
	for _, handler := range seaweedfs.New(connections, nil) {
		if handler.Descriptor().Name != "vacuum" {
			continue
		}
		for range b.reps {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			started := time.Now()
			found := jobtypetest.Detect(ctx, handler, jobtype.DetectInput{Cluster: block, MaxResults: 10_000})
			if found.Err != nil || len(found.Proposals) != 2000 {
				return fmt.Errorf("%d volumes found: %w", len(found.Proposals), found.Err)
			}
			seconds = append(seconds, time.Since(started).Seconds())
			runtime.ReadMemStats(&after)
			grown = append(grown, float64(after.Sys)/1e6)
		}
	}
	return errors.Join(b.values("seaweedfs_detect_100k", 100_000, "s", seconds, nil), b.values("seaweedfs_detect_100k_process", 100_000, "MB", grown, nil))
}

const weedConfig = `version: 1
cluster: {masters: ["%s"]}
job_types:
  work: {handler: %s, schedule: {every: 1h, first_run: scheduled}, policy: {global_execution_concurrency: 4, per_worker_execution_concurrency: 4, retry_limit: 3, retry_backoff: 1s}}
`

// weedDev starts `roundsman dev` on a cluster with one job type.
func weedDev(ctx context.Context, master, handler string, args ...string) (command *exec.Cmd, clean func(), err error) {
	binary, _, err := builtBinary()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "roundsman-bench-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "weed.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, weedConfig, master, handler), 0o600); err != nil {
		clean()
		return nil, nil, err
	}
	args = append([]string{"dev", "--config", file, "--data-dir", dir, "--port", "0", "--ui-port", "0"}, args...)
	return exec.CommandContext(ctx, binary, args...), clean, nil
}

// weedVacuums measures 33 vacuums of one worker under a limit of 4, from the first call to the last. It also
// measures the number of parallel vacuums.
func weedVacuums(ctx context.Context, b *bench) error {
	var seconds, together []float64
	for range b.reps {
		cluster := fakecluster.New(nil)
		cluster.Add(fakecluster.Server{Address: "127.0.0.1:8080", Max: 100})
		for id := range uint32(33) {
			cluster.Put(fakecluster.Volume{ID: id + 1, Objects: 10, Deleted: 5, ObjectSize: 1000}, "127.0.0.1:8080")
		}
		var first, last, now, most atomic.Int64
		cluster.SetFault(func(_ context.Context, method, _ string) fakecluster.Verdict {
			switch method {
			case "VacuumVolumeCheck":
				first.CompareAndSwap(0, time.Now().UnixNano())
			case "VacuumVolumeCompact":
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
			case "VacuumVolumeCommit":
				now.Add(-1)
				last.Store(time.Now().UnixNano())
			}
			return fakecluster.Pass
		})
		running, err := cluster.Serve(fakecluster.Options{Delay: func(method string) time.Duration {
			if method == "VacuumVolumeCompact" {
				return vacuumCall
			}
			return 0
		}})
		if err != nil {
			return err
		}
		command, clean, err := weedDev(ctx, running.Master, "vacuum", "--once", "--workers", "node-a")
		if err != nil {
			return err
		}
		output, err := command.CombinedOutput()
		clean()
		running.Stop()
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		seconds = append(seconds, time.Duration(last.Load()-first.Load()).Seconds())
		together = append(together, float64(most.Load()))
	}
	return errors.Join(b.values("seaweedfs_33_vacuums", 33, "s", seconds, nil), b.values("seaweedfs_33_vacuums_at_once", 33, "jobs", together, nil))
}

// weedKill kills control plane, server and workers with SIGKILL during a move, and starts them again at once. It measures
// the time until the old process's lease is free, and until the volume is only at its target and writable.
func weedKill(ctx context.Context, b *bench) error {
	var free, moved []float64
	for range b.reps {
		f, m, err := weedKillOnce(ctx)
		if err != nil {
			return err
		}
		free, moved = append(free, f), append(moved, m)
	}
	return errors.Join(b.values("seaweedfs_kill_lease_free", 1, "s", free, nil), b.values("seaweedfs_kill_moved_on", 1, "s", moved, nil))
}

// unbalanced serves two servers, one of which has all volumes. copying receives when a move has copied and not yet deleted.
func unbalanced() (cluster *fakecluster.Cluster, running *fakecluster.Running, copying chan struct{}, err error) {
	cluster = fakecluster.New(nil)
	for i := range 2 {
		cluster.Add(fakecluster.Server{Address: fmt.Sprintf("127.0.0.1:%d", 8080+i), Max: 4})
	}
	for id := range uint32(3) {
		cluster.Put(fakecluster.Volume{ID: id + 1, Objects: 10, ObjectSize: 1000}, "127.0.0.1:8080")
	}
	copying = make(chan struct{}, 100)
	cluster.SetFault(func(_ context.Context, method, _ string) fakecluster.Verdict {
		if method == "VolumeTailReceiver" {
			copying <- struct{}{}
		}
		return fakecluster.Pass
	})
	running, err = cluster.Serve(fakecluster.Options{Delay: func(method string) time.Duration {
		if method == "VolumeTailReceiver" {
			return 2 * time.Second
		}
		return 0
	}})
	return cluster, running, copying, err
}

func weedKillOnce(ctx context.Context) (free, moved float64, err error) {
	cluster, running, copying, err := unbalanced()
	if err != nil {
		return 0, 0, err
	}
	defer running.Stop()
	command, clean, err := weedDev(ctx, running.Master, "volume_balance", "--workers", "node-a,node-b")
	if err != nil {
		return 0, 0, err
	}
	defer clean()
	if err := command.Start(); err != nil {
		return 0, 0, err
	}
	select {
	case <-copying:
	case <-time.After(time.Minute):
		_ = command.Process.Kill()
		_ = command.Wait()
		return 0, 0, errors.New("no move began within a minute")
	}
	holder := cluster.Holder("shell")
	killed := time.Now()
	if err := command.Process.Kill(); err != nil {
		return 0, 0, err
	}
	_ = command.Wait()
	again := exec.CommandContext(ctx, command.Path, command.Args[1:]...)
	if err := again.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = again.Process.Signal(syscall.SIGTERM)
		_ = again.Wait()
	}()
	for ctx.Err() == nil {
		if free == 0 && cluster.Holder("shell") != holder {
			free = time.Since(killed).Seconds()
		}
		holders, readOnly := cluster.Replicas(1)
		if len(holders) == 1 && holders[0] == "127.0.0.1:8081" && len(readOnly) == 0 {
			return free, time.Since(killed).Seconds(), nil
		}
		if time.Since(killed) > 2*time.Minute {
			return 0, 0, fmt.Errorf("volume 1 is on %v, read-only on %v, two minutes after the kill", holders, readOnly)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, 0, ctx.Err()
}
