package fakecluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/volumepb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// record writes the recording from the cluster of the master in realMaster.
var record = flag.Bool("record", false, "record the answers of the cluster in "+realMaster)

const (
	realMaster = "ROUNDSMAN_TEST_SEAWEEDFS"
	// realRestart is a program that kills and starts the volume server with the HTTP address in its argument.
	realRestart = "ROUNDSMAN_TEST_SEAWEEDFS_RESTART"
)

var recordings = map[string]func(id uint32, collection string) []question{
	"testdata/volume-servers.json": conversation,
	"testdata/arrivals.json":       arrivals,
}

// recorded is a conversation with three servers of a real cluster about one volume.
type recorded struct {
	// Objects are the sizes of the needles. The first Deleted of them were deleted.
	Objects   []uint64   `json:"objects"`
	Deleted   int        `json:"deleted"`
	Exchanges []exchange `json:"exchanges"`
}

type exchange struct {
	Note    string            `json:"note"`
	Server  string            `json:"server"`
	Method  string            `json:"method"`
	Request json.RawMessage   `json:"request"`
	Answers []json.RawMessage `json:"answers,omitempty"`
	Code    string            `json:"code,omitempty"`
	Error   string            `json:"error,omitempty"`
}

type question struct {
	note, server, method string
	request              proto.Message
}

func volumeOf(id uint32) proto.Message { return &volumepb.VolumeRequest{VolumeId: id} }

// conversation returns every call on whose answer a decision depends, in the relevant states.
func conversation(id uint32, collection string) []question {
	look := func(note, server string) []question {
		return []question{{note, server, "ReadVolumeFileStatus", volumeOf(id)}, {note, server, "VolumeStatus", volumeOf(id)}}
	}
	mark := func(note, server string, persist bool) question {
		return question{note, server, "VolumeMarkReadonly", &volumepb.MarkReadonlyRequest{VolumeId: id, Persist: persist}}
	}
	copied := func(note string) question {
		return question{note, "target", "VolumeCopy", &volumepb.VolumeCopyRequest{VolumeId: id, SourceDataNode: "$source"}}
	}
	tail := func(note string, since uint64) question {
		return question{note, "target", "VolumeTailReceiver", &volumepb.TailRequest{VolumeId: id, SinceNs: since, IdleTimeoutSeconds: 1, SourceVolumeServer: "$source"}}
	}
	gone := func(note, server string) question {
		return question{note, server, "VolumeDelete", &volumepb.VolumeDeleteRequest{VolumeId: id, KeepRemoteData: true}}
	}
	const future = 1 << 62
	return slices.Concat(
		look("a volume", "source"), look("no volume", "target"),
		[]question{mark("no volume", "target", false), gone("no volume", "target"), tail("no volume", 0), {"no shards", "source", "VolumeEcShardsInfo", volumeOf(id)}},
		[]question{mark("a mark that is persisted", "source", true), copied("of a persisted mark")}, look("the copy of a persisted mark", "target"),
		[]question{tail("nothing to append to a read-only copy", future), tail("something to append to a read-only copy", 0), gone("undo", "target")},
		[]question{{"undo", "source", "VolumeMarkWritable", volumeOf(id)}, mark("a mark that is not persisted", "source", false), copied("of a mark that is not persisted")},
		look("the copy of a mark that is not persisted", "target"),
		[]question{tail("everything again", 0), copied("a second time: the first one is replaced")}, look("the second copy", "target"),
		[]question{gone("undo", "target")}, encoding(id, collection, look),
	)
}

// encoding returns the part of the conversation about shards.
func encoding(id uint32, collection string, look func(note, server string) []question) []question {
	info := func(note, server string) []question {
		return []question{{note, server, "VolumeEcShardsInfo", volumeOf(id)}, vifOf(note, server, id, collection)}
	}
	mount := func(note, server string, shards ...uint32) question {
		return question{note, server, "VolumeEcShardsMount", &volumepb.EcMountRequest{VolumeId: id, Collection: collection, ShardIds: shards}}
	}
	unmount := func(note, server string, shards ...uint32) question {
		return question{note, server, "VolumeEcShardsUnmount", &volumepb.EcUnmountRequest{VolumeId: id, ShardIds: shards}}
	}
	remove := func(note, server string, shards ...uint32) question {
		return question{note, server, "VolumeEcShardsDelete", &volumepb.EcDeleteRequest{VolumeId: id, Collection: collection, ShardIds: shards}}
	}
	mark := question{"before it is encoded", "source", "VolumeMarkReadonly", &volumepb.MarkReadonlyRequest{VolumeId: id, Persist: true}}
	return slices.Concat(
		[]question{mark, {"", "source", "VolumeEcShardsGenerate", &volumepb.EcGenerateRequest{VolumeId: id, Collection: collection}}},
		[]question{{"generated and not mounted", "source", "VolumeEcShardsInfo", volumeOf(id)}}, look("beside its shards", "source"),
		[]question{
			{"", "target", "VolumeEcShardsCopy", &volumepb.EcCopyRequest{
				VolumeId: id, Collection: collection, ShardIds: []uint32{0, 1, 2, 3}, SourceDataNode: "$source",
				CopyEcxFile: true, CopyEcjFile: true, CopyVifFile: true, CopyEcsumFile: true,
			}},
			mount("", "target", 0, 1, 2, 3), mount("a shard that is not there", "target", 9), mount("", "source", 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
		},
		info("shards", "target"), info("shards beside their volume", "source"),
		[]question{{"a mark writes the .vif file anew", "source", "VolumeMarkWritable", volumeOf(id)}}, info("after a mark of the volume", "source"),
		[]question{
			unmount("", "target", 3), unmount("not mounted", "target", 3), unmount("not there", "other", 3), remove("", "target", 3), remove("not there", "target", 3),
			{"beside mounted shards", "source", "VolumeDelete", &volumepb.VolumeDeleteRequest{VolumeId: id, KeepRemoteData: true}},
		},
		look("after its deletion", "source"), info("after the deletion of the volume", "source"), info("three shards", "target"),
		[]question{unmount("", "target", 0, 1, 2), {"all unmounted", "target", "VolumeEcShardsInfo", volumeOf(id)}, remove("", "target", 0, 1, 2)},
	)
}

func vifOf(note, server string, id uint32, collection string) question {
	return question{note, server, "CopyFile", &volumepb.CopyFileRequest{
		VolumeId: id, Ext: ".vif", Collection: collection, IsEcVolume: true, IgnoreSourceFileNotFound: true, StopOffset: 1 << 20, CompactionRevision: 1<<32 - 1,
	}}
}

// asker makes the calls of a conversation, to real servers or to fakes.
type asker struct {
	t     *testing.T
	id    uint32
	conns map[string]*grpc.ClientConn
	// Addresses by the names in the recording.
	names map[string]string
	// Events of a server, by method.
	acts map[string]func(server string)
}

func newAsker(t *testing.T, id uint32, names map[string]string) *asker {
	t.Helper()
	a := &asker{t: t, id: id, names: names, conns: map[string]*grpc.ClientConn{}}
	for name, address := range names {
		target, err := weed.ParseAddress(address)
		require.NoError(t, err)
		a.conns[name], err = grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.conns[name].Close() })
	}
	return a
}

// ask makes one call and returns the parts that are the same in every run.
func (a *asker) ask(q question) exchange {
	a.t.Helper()
	if act := a.acts[q.method]; act != nil {
		act(q.server)
		return exchange{Note: q.note, Server: q.server, Method: q.method, Request: json.RawMessage(`{}`)}
	}
	request, err := protojson.Marshal(q.request)
	require.NoError(a.t, err)
	made := exchange{Note: q.note, Server: q.server, Method: q.method, Request: compact(a.t, request)}
	sent := proto.Clone(q.request)
	require.NoError(a.t, protojson.Unmarshal([]byte(strings.ReplaceAll(string(request), "$source", a.names["source"])), sent))
	answers, err := a.call(a.t.Context(), q, sent)
	for _, answer := range answers {
		if copied, ok := answer.(*volumepb.VolumeCopyResponse); ok && copied.GetLastAppendAtNs() == 0 {
			continue // progress
		}
		made.Answers = append(made.Answers, a.steady(q, answer))
	}
	if err != nil {
		made.Code, made.Error = status.Code(err).String(), a.anonymous(status.Convert(err).Message())
	}
	return made
}

func (a *asker) call(ctx context.Context, q question, request proto.Message) (answers []proto.Message, err error) {
	service := volumepb.File_volumepb_volume_proto.Services().Get(0)
	method := service.Methods().ByName(protoreflect.Name(q.method))
	require.NotNil(a.t, method, q.method)
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	require.NoError(a.t, err)
	stream, err := a.conns[q.server].NewStream(ctx, &grpc.StreamDesc{ServerStreams: method.IsStreamingServer()}, fmt.Sprintf("/%s/%s", service.FullName(), q.method))
	require.NoError(a.t, err)
	require.NoError(a.t, stream.SendMsg(request))
	require.NoError(a.t, stream.CloseSend())
	for {
		answer := kind.New().Interface()
		if err := stream.RecvMsg(answer); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return answers, err
		}
		answers = append(answers, answer)
		if !method.IsStreamingServer() {
			return answers, nil
		}
	}
}

// steady replaces times by 1, and a file by its fields.
func (a *asker) steady(q question, answer proto.Message) json.RawMessage {
	a.t.Helper()
	file, _ := q.request.(*volumepb.CopyFileRequest)
	switch answer := answer.(type) {
	case *volumepb.FileStatusResponse:
		answer.VolumeInfo = nil
	case *volumepb.VolumeCopyResponse:
		answer.ProcessedBytes, answer.LastAppendAtNs = 0, 1
	case *volumepb.CopyFileResponse:
		if file.GetExt() == ".note" || file.GetExt() == ".idx" {
			return a.json(&volumepb.CopyFileResponse{FileContent: []byte(a.anonymous(string(answer.GetFileContent())))})
		}
		info := &volumepb.VolumeInfo{}
		require.NoError(a.t, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(answer.GetFileContent(), info))
		info.BytesOffset = 0 // It depends on the build.
		if shards := info.GetEcShardConfig(); shards != nil {
			shards.EncodeTsNs = min(shards.GetEncodeTsNs(), 1)
		}
		return a.json(info)
	}
	return a.json(answer)
}

func (a *asker) json(message proto.Message) json.RawMessage {
	a.t.Helper()
	text, err := protojson.Marshal(message)
	require.NoError(a.t, err)
	return compact(a.t, text)
}

func compact(t *testing.T, text []byte) json.RawMessage {
	t.Helper()
	var into bytes.Buffer
	require.NoError(t, json.Compact(&into, text))
	return into.Bytes()
}

// prefix matches the text that gRPC adds to a forwarded message.
var prefix = regexp.MustCompile(`rpc error: code = \w+ desc = `)

func (a *asker) anonymous(text string) string {
	for name, address := range a.names {
		text = strings.ReplaceAll(text, address, name)
		text = strings.ReplaceAll(text, host(address), name)
	}
	text = heldPort.ReplaceAllString(text, "$1")
	return prefix.ReplaceAllString(text, "")
}

// heldPort matches the port of a held copy.
var heldPort = regexp.MustCompile(`(copying from source)\.\d+`)

func host(address string) string {
	name, ports, _ := strings.Cut(address, ":")
	http, _, _ := strings.Cut(ports, ".")
	return name + ":" + http
}

// TestFakeAnswersLikeTheRealOne compares the fake with the recorded conversations.
func TestFakeAnswersLikeTheRealOne(t *testing.T) {
	t.Parallel()
	for recording, conversation := range recordings {
		t.Run(filepath.Base(recording), func(t *testing.T) {
			if *record {
				recordReal(t, recording, conversation)
			}
			replay(t, recording, conversation)
		})
	}
}

func replay(t *testing.T, recording string, conversation func(uint32, string) []question) {
	t.Helper()
	text, err := os.ReadFile(recording)
	require.NoError(t, err)
	var want recorded
	require.NoError(t, json.Unmarshal(text, &want))
	var first struct {
		VolumeID uint32 `json:"volumeId"`
	}
	require.NoError(t, json.Unmarshal(want.Exchanges[0].Request, &first))
	c := fakecluster.New(nil)
	names := map[string]string{"source": "127.0.0.1:1", "target": "127.0.0.1:2", "other": "127.0.0.1:3"}
	for _, address := range names {
		c.Add(fakecluster.Server{Address: address, Max: 9})
	}
	c.PutObjects(fakecluster.Volume{ID: first.VolumeID, Collection: "recorded", Deleted: want.Deleted}, want.Objects, names["source"])
	running, err := c.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	cluster, err := weed.Dial(weed.Spec{Masters: []string{running.Master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Close() })
	topology, err := cluster.Topology(t.Context())
	require.NoError(t, err)
	for i, name := range []string{"source", "target", "other"} {
		names[name] = topology.Servers[i].Address
	}
	a := newAsker(t, first.VolumeID, names)
	a.acts = fakeActs(t, c, first.VolumeID)
	questions := conversation(first.VolumeID, "recorded")
	require.Len(t, questions, len(want.Exchanges))
	for i, q := range questions {
		require.Equal(t, readable(t, want.Exchanges[i]), readable(t, a.ask(q)), "exchange %d: %s", i, q.note)
	}
}

func readable(t *testing.T, e exchange) string {
	t.Helper()
	text, err := json.MarshalIndent(e, "", "  ")
	require.NoError(t, err)
	return string(text)
}

// recordReal records a conversation with a real cluster, about a volume of its own.
func recordReal(t *testing.T, recording string, conversation func(uint32, string) []question) {
	t.Helper()
	master := os.Getenv(realMaster)
	cluster, err := weed.Dial(weed.Spec{Masters: []string{master}})
	require.NoError(t, err)
	defer cluster.Close()
	topology, err := cluster.Topology(t.Context())
	require.NoError(t, err)
	id, source := grow(t, master, topology)
	names := map[string]string{"source": source}
	for _, server := range topology.Servers {
		if name := []string{"", "target", "other", ""}[len(names)]; server.Address != source && name != "" {
			names[name] = server.Address
		}
	}
	made := recorded{Deleted: 3}
	for i := range 20 {
		content := bytes.Repeat([]byte{byte(i)}, 1000*(i+1))
		fid := fmt.Sprintf("%d,%x00000001", id, i+1)
		send(t, http.MethodPost, "http://"+source+"/"+fid, content)
		made.Objects = append(made.Objects, needleSize(len(content), len(fid)))
	}
	for i := range made.Deleted {
		send(t, http.MethodDelete, fmt.Sprintf("http://%s/%d,%x00000001", source, id, i+1), nil)
	}
	a := newAsker(t, id, names)
	a.acts = a.realActs()
	for _, q := range conversation(id, "recorded") {
		made.Exchanges = append(made.Exchanges, a.ask(q))
	}
	text, err := json.MarshalIndent(made, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(recording, append(text, '\n'), 0o600))
}

// needleSize returns the size of a needle: content, flags, name, type and time.
func needleSize(content, name int) uint64 {
	return uint64(4 + content + 1 + 1 + name + 1 + len(octets) + 5) //nolint:gosec // small
}

const octets = "application/octet-stream"

// grow creates a volume of the collection `recorded` and returns its server.
func grow(t *testing.T, master string, topology plan.Topology) (id uint32, server string) {
	t.Helper()
	on := topology.Servers[0]
	send(t, http.MethodGet, fmt.Sprintf("http://%s/vol/grow?collection=recorded&count=1&replication=000&dataCenter=%s&rack=%s&dataNode=%s", master, on.DataCenter, on.Rack, on.Address), nil)
	var place struct {
		Fid string `json:"fid"`
		URL string `json:"url"`
	}
	require.NoError(t, json.Unmarshal(send(t, http.MethodGet, fmt.Sprintf("http://%s/dir/assign?collection=recorded", master), nil), &place))
	_, err := fmt.Sscanf(place.Fid, "%d,", &id)
	require.NoError(t, err)
	return id, place.URL
}

func send(t *testing.T, method, url string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", octets)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, "%s", content)
	return content
}
