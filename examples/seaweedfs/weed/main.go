// Command weed plays `weed shell` for the cluster of ../cluster, so that admin_script can be tried without SeaweedFS. lock
// and unlock take and give back the shell lease, volume.list queries the master, and every other command is only repeated.
//
//	go build -o bin/weed ./examples/seaweedfs/weed
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

func main() {
	flags := flag.NewFlagSet("weed shell", flag.ExitOnError)
	masters := flags.String("master", "127.0.0.1:9333", "masters, of which the first is asked")
	flags.String("filer", "", "not used")
	if len(os.Args) < 2 || os.Args[1] != "shell" {
		fmt.Fprintln(os.Stderr, "this weed plays `weed shell` only")
		os.Exit(2)
	}
	if err := flags.Parse(os.Args[2:]); err != nil {
		os.Exit(2)
	}
	master, _, _ := strings.Cut(*masters, ",")
	if err := shell(context.Background(), master, os.Stdin, os.Stdout); err != nil {
		fmt.Println("error:", err)
	}
}

// session is one shell; held is the lease between lock and unlock.
type session struct {
	master masterpb.SeaweedClient
	held   *masterpb.LeaseResponse
	out    io.Writer
}

func shell(ctx context.Context, address string, in io.Reader, out io.Writer) error {
	target, err := weed.ParseAddress(address)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &session{master: masterpb.NewSeaweedClient(conn), out: out}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "exit" {
			return nil
		}
		if err := s.command(ctx, line); err != nil {
			fmt.Fprintln(out, "error:", err)
		}
	}
	return nil
}

func (s *session) command(ctx context.Context, line string) error {
	switch name, _, _ := strings.Cut(line, " "); name {
	case "":
	case "lock":
		return s.lock(ctx)
	case "unlock":
		if s.held == nil {
			return nil
		}
		_, err := s.master.ReleaseAdminToken(ctx, &masterpb.ReleaseRequest{LockName: "shell", PreviousToken: s.held.GetToken(), PreviousLockTime: s.held.GetLockTsNs()})
		return err
	case "volume.list":
		list, err := s.master.VolumeList(ctx, &masterpb.VolumeListRequest{})
		if err != nil {
			return err
		}
		for _, center := range list.GetTopology().GetDataCenters() {
			fmt.Fprintf(s.out, "data center %s: %d racks\n", center.GetId(), len(center.GetRacks()))
		}
	default:
		fmt.Fprintf(s.out, "%s (this weed plays weed shell: nothing is done)\n", line)
	}
	return nil
}

// lock tries every second, as weed shell does.
func (s *session) lock(ctx context.Context) error {
	for {
		held, err := s.master.LeaseAdminToken(ctx, &masterpb.LeaseRequest{LockName: "shell", ClientName: "weed shell"})
		if err == nil {
			s.held = held
			return nil
		}
		if !weed.IsLocked(err) {
			return err
		}
		_, holder, _ := strings.Cut(err.Error(), "already locked by ")
		fmt.Fprintf(s.out, "waiting for lock held by %s\n", holder)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
