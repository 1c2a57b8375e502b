package fakecluster_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// Events of a server between two calls.
const (
	beginCopy = "@begin copy" // its caller goes away in the middle
	endCopy   = "@end copy"
	restart   = "@restart" // by SIGKILL
)

// arrivals returns a conversation about copies without a caller and restarts of servers.
func arrivals(id uint32, collection string) []question {
	file := func(note, server, ext string) question {
		return question{note, server, "CopyFile", &volumepb.CopyFileRequest{
			VolumeId: id, Ext: ext, Collection: collection, IsEcVolume: true, IgnoreSourceFileNotFound: ext != ".idx", StopOffset: 1 << 20, CompactionRevision: 1<<32 - 1,
		}}
	}
	look := func(note, server string) []question {
		return []question{
			{note, server, "ReadVolumeFileStatus", volumeOf(id)},
			{note, server, "VolumeStatus", volumeOf(id)},
			file(note, server, ".note"),
		}
	}
	act := func(note, server, what string) question {
		return question{note, server, what, &volumepb.VolumeRequest{}}
	}
	mark := func(note string, persist bool) question {
		return question{note, "source", "VolumeMarkReadonly", &volumepb.MarkReadonlyRequest{VolumeId: id, Persist: persist}}
	}
	copied := func(note string) question {
		return question{note, "target", "VolumeCopy", &volumepb.VolumeCopyRequest{VolumeId: id, SourceDataNode: "$source"}}
	}
	gone := func(note string) question {
		return question{note, "target", "VolumeDelete", &volumepb.VolumeDeleteRequest{VolumeId: id, KeepRemoteData: true}}
	}
	return slices.Concat(
		[]question{{"a volume", "source", "ReadVolumeFileStatus", volumeOf(id)}, mark("a mark that is not persisted", false), file("a mark that is not persisted", "source", ".vif")},
		[]question{act("a copy whose caller goes away", "target", beginCopy)}, look("a copy under way", "target"),
		[]question{act("nobody takes the answer", "target", endCopy)}, look("a ghost", "target"),
		[]question{file("a ghost", "target", ".idx"), gone("a ghost")}, look("after the deletion of a ghost", "target"),
		[]question{act("a ghost again", "target", beginCopy), act("", "target", endCopy), act("of a ghost", "target", restart)}, look("a restart loses a ghost", "target"),
		[]question{act("a copy under way", "target", beginCopy), act("in the middle of a copy", "target", restart)}, look("the note survives", "target"),
		[]question{copied("over the note")}, look("a copy over a note", "target"), []question{gone("undo")},
		[]question{act("of a source", "source", restart)}, look("a mark that is not persisted is gone", "source"),
		[]question{mark("a mark that is persisted", true), file("a mark that is persisted", "source", ".vif"), act("of a source", "source", restart), file("a mark that is persisted", "source", ".note")},
		[]question{{"undo", "source", "VolumeMarkWritable", volumeOf(id)}, file("undo", "source", ".vif")}, look("undo", "source"),
	)
}

func fakeActs(t *testing.T, c *fakecluster.Cluster, id uint32) map[string]func(string) {
	t.Helper()
	addresses := map[string]string{"source": "127.0.0.1:1", "target": "127.0.0.1:2"}
	return map[string]func(string){
		beginCopy: func(server string) { require.NoError(t, c.BeginCopy(addresses[server], addresses["source"], id)) },
		endCopy:   func(string) { c.EndCopies() },
		restart: func(server string) {
			c.SetDown(addresses[server], true)
			c.SetDown(addresses[server], false)
		},
	}
}

// part is the number of bytes that a source sends before its copy is held, less than the volume.
const part = 60_000

// held forwards TCP connections to a target. It holds its answers back after part until release is called.
func held(t *testing.T, target string) (address string, release func()) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(func() { release(); _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", target)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() {
				_, _ = io.CopyN(in, out, part)
				<-released
				_, _ = io.Copy(in, out)
				_ = in.Close()
			}()
		}
	}()
	return listener.Addr().String(), release
}

func (a *asker) realActs() map[string]func(string) {
	note := func(server string) bool {
		ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Second)
		defer cancel()
		answers, err := a.call(ctx, question{"", server, "CopyFile", nil}, &volumepb.CopyFileRequest{
			VolumeId: a.id, Ext: ".note", Collection: "recorded", IsEcVolume: true, IgnoreSourceFileNotFound: true, StopOffset: 1 << 20, CompactionRevision: 1<<32 - 1,
		})
		require.NoError(a.t, err)
		return slices.ContainsFunc(answers, func(m proto.Message) bool {
			file, ok := m.(*volumepb.CopyFileResponse)
			return ok && len(file.GetFileContent()) > 0
		})
	}
	release := func() {}
	return map[string]func(string){
		beginCopy: func(server string) {
			target, err := weed.ParseAddress(a.names["source"])
			require.NoError(a.t, err)
			var proxy string
			proxy, release = held(a.t, target)
			source := host(a.names["source"]) + "." + proxy[strings.LastIndex(proxy, ":")+1:]
			ctx, leave := context.WithCancel(a.t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = a.call(ctx, question{"", server, "VolumeCopy", nil}, &volumepb.VolumeCopyRequest{VolumeId: a.id, SourceDataNode: source})
			}()
			testsuite.WaitFor(a.t, time.Minute, "the note of a copy", func() bool { return note(server) })
			leave()
			<-ended
		},
		endCopy: func(server string) {
			release()
			testsuite.WaitFor(a.t, time.Minute, "the copy to end", func() bool { return !note(server) })
			testsuite.WaitFor(a.t, time.Minute, "the ghost", func() bool {
				_, err := a.call(a.t.Context(), question{"", server, "VolumeStatus", nil}, volumeOf(a.id))
				return err == nil
			})
			testsuite.WaitFor(a.t, time.Minute, "its files to go", func() bool {
				_, err := a.call(a.t.Context(), question{"", server, "CopyFile", nil}, &volumepb.CopyFileRequest{
					VolumeId: a.id, Ext: ".idx", Collection: "recorded", IsEcVolume: true, StopOffset: 1, CompactionRevision: 1<<32 - 1,
				})
				return err != nil
			})
		},
		restart: func(server string) {
			program := os.Getenv(realRestart)
			require.NotEmpty(a.t, program, "%s names no program", realRestart)
			out, err := exec.CommandContext(a.t.Context(), program, host(a.names[server])).CombinedOutput() //nolint:gosec // the person's own
			require.NoError(a.t, err, "%s", out)
			testsuite.WaitFor(a.t, time.Minute, "the server", func() bool {
				response, err := http.Get("http://" + host(a.names[server]) + "/status")
				if err == nil {
					_ = response.Body.Close()
				}
				return err == nil
			})
		},
	}
}
