// Command cluster is a small SeaweedFS cluster that exists in memory only: a master
// and eight volume servers over SeaweedFS's own gRPC, with volumes that need every
// kind of maintenance, and clients that write meanwhile.
//
//	go run ./examples/seaweedfs/cluster
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// masterPort is the gRPC port that ../roundsman.yaml names.
const masterPort = 19333

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cluster, servers := build()
	running, err := cluster.Serve(fakecluster.Options{MasterPort: masterPort, Delay: delay})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
	fmt.Printf("a fake cluster: master %s, %d volume servers. Ctrl+C ends it.\n", running.Master, len(servers))
	work(ctx, cluster)
	running.Stop()
}

// delay is the approximate time of a call on a real cluster of this size.
func delay(method string) time.Duration {
	switch method {
	case "VacuumVolumeCompact", "VolumeCopy", "VolumeEcShardsGenerate":
		return 500 * time.Millisecond
	case "VolumeTailReceiver":
		return 2 * time.Second
	}
	return time.Millisecond
}

// build makes two racks of four servers. The first server of each is the old one: it
// has most of the volumes.
func build() (*fakecluster.Cluster, []string) {
	cluster := fakecluster.New(nil)
	cluster.SetVolumeLimit(64)
	var servers []string
	for i := range 8 {
		address := fmt.Sprintf("127.0.0.1:%d", 8080+i)
		servers = append(servers, address)
		cluster.Add(fakecluster.Server{Address: address, DataCenter: "dc1", Rack: fmt.Sprintf("rack%d", i/4+1), Max: 20})
	}
	quiet := time.Now().Add(-2 * time.Hour).Unix()
	for id := range uint32(24) {
		volume := fakecluster.Volume{ID: id + 1, Objects: 50, ObjectSize: 100_000, ModifiedAt: time.Now().Unix()}
		switch {
		case id < 12: // garbage
			volume.Deleted = 15 + int(id)
		case id < 15: // full and quiet
			volume.Objects, volume.ObjectSize, volume.ModifiedAt, volume.Collection = 65, 1<<20, quiet, "archive"
		}
		holders := []string{servers[id%2*4]}
		if id%3 == 0 {
			volume.Placement, holders = 10, []string{servers[0], servers[4]} // one copy in another rack
		}
		cluster.Put(volume, holders...)
	}
	return cluster, servers
}

// work writes and deletes objects until ctx ends.
func work(ctx context.Context, cluster *fakecluster.Cluster) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for key := uint64(1) << 48; ; key++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		id := uint32(16 + key%9) //nolint:gosec // small
		cluster.Write(id, key, 300_000)
		cluster.Erase(id, key-9)
	}
}
