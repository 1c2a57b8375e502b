package fakeworker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Proposal returns the n-th proposal of a detection of the job type, with the keys, priority and parameters of the real
// one.
func Proposal(jobType string, n int, now time.Time) *pb.JobProposal {
	p := &pb.JobProposal{
		JobType: jobType, Priority: pb.JobPriority_JOB_PRIORITY_NORMAL, Summary: fmt.Sprintf("%s %d", jobType, n),
		Detail: "found by the fake worker", Labels: map[string]string{"rack": "none-of-ours"}, ExpiresAt: timestamppb.New(now.Add(24 * time.Hour)),
		Parameters: map[string]*pb.ConfigValue{"task_params_pb": Value(opaque(jobType, n)), "estimated_runtime_seconds": Value(300), "collection": Value("photos")},
	}
	switch jobType {
	case "volume_balance": // A batch of two moves.
		p.DedupeKey = fmt.Sprintf("volume_balance_batch:volume_balance:%d:photos+volume_balance:%d:photos", 2*n, 2*n+1)
	case "erasure_coding":
		p.Priority = pb.JobPriority_JOB_PRIORITY_LOW
		p.DedupeKey, p.Parameters["volume_id"] = fmt.Sprintf("erasure_coding:%d:photos", n), Value(n)
	case "ec_balance":
		p.Priority = pb.JobPriority_JOB_PRIORITY_HIGH
		p.DedupeKey, p.Parameters["volume_id"] = fmt.Sprintf("ec_balance:%d", n), Value(n)
	case "admin_script":
		script := strings.Repeat("volume.fix.replication -apply\n", n)
		sum := sha256.Sum256([]byte(script))
		p.DedupeKey = "admin-script:" + hex.EncodeToString(sum[:])
		p.Parameters = map[string]*pb.ConfigValue{"script": Value(script), "script_name": Value("nightly")}
		p.Labels = map[string]string{"script_hash": hex.EncodeToString(sum[:])}
	case "iceberg_maintenance":
		p.DedupeKey = fmt.Sprintf("iceberg_maintenance:lake/sales/t%d", n)
		p.Parameters = map[string]*pb.ConfigValue{"bucket_name": Value("lake"), "namespace": Value("sales"), "table_name": Value(fmt.Sprintf("t%d", n)), "nested": nested(n)}
	case "s3_lifecycle": // It has no key.
		p.Parameters = map[string]*pb.ConfigValue{"filer_grpc_address": Value("127.0.0.1:18888")}
	default:
		p.DedupeKey = fmt.Sprintf("%s:%d:photos", jobType, n)
		p.Parameters["volume_id"], p.Parameters["server"] = Value(n), Value("localhost:8080")
	}
	p.ProposalId = p.GetDedupeKey()
	if p.GetProposalId() == "" {
		p.ProposalId = fmt.Sprintf("s3-lifecycle-%d", now.UnixNano())
	}
	return p
}

// opaque returns bytes that only the worker can read. They are not text, and differ between jobs.
func opaque(jobType string, n int) []byte {
	sum := sha256.Sum256([]byte(fmt.Sprint(jobType, n)))
	return append([]byte{0x0a, 0x02, 0xff, 0xfe, byte(n), 0x00}, sum[:]...)
}

// nested has a value of each kind, nested.
func nested(n int) *pb.ConfigValue {
	list := &pb.ValueList{Values: []*pb.ConfigValue{
		Value(true), Value(n), Value(0.1), Value("\u2028é"), Value([]byte{0, 0xff, '"'}),
		{Kind: &pb.ConfigValue_DurationValue{DurationValue: durationpb.New(1500 * time.Millisecond)}},
		{Kind: &pb.ConfigValue_StringList{StringList: &pb.StringList{Values: []string{"", "a"}}}},
		{Kind: &pb.ConfigValue_Int64List{Int64List: &pb.Int64List{Values: []int64{-1, 1 << 62}}}},
		{Kind: &pb.ConfigValue_DoubleList{DoubleList: &pb.DoubleList{Values: []float64{0.1}}}},
		{Kind: &pb.ConfigValue_BoolList{BoolList: &pb.BoolList{Values: []bool{false}}}},
		{}, // No kind.
	}}
	return &pb.ConfigValue{Kind: &pb.ConfigValue_MapValue{MapValue: &pb.ValueMap{Fields: map[string]*pb.ConfigValue{
		"list": {Kind: &pb.ConfigValue_ListValue{ListValue: list}}, "empty": {Kind: &pb.ConfigValue_MapValue{MapValue: &pb.ValueMap{}}},
	}}}}
}

// digest returns a digest of parameters and labels, for comparisons.
func digest(parameters map[string]*pb.ConfigValue, labels map[string]string) string {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.JobProposal{Parameters: parameters, Labels: labels})
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
