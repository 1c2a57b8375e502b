package translate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
)

func descriptor() *pb.JobTypeDescriptor {
	field := func(name string, kind pb.ConfigFieldType, edit func(*pb.ConfigField)) *pb.ConfigField {
		f := &pb.ConfigField{Name: name, Label: name, FieldType: kind}
		if edit != nil {
			edit(f)
		}
		return f
	}
	return &pb.JobTypeDescriptor{
		JobType: "vacuum", DisplayName: "Vacuum", DescriptorVersion: 3,
		AdminRuntimeDefaults: &pb.AdminRuntimeDefaults{Enabled: true, DetectionIntervalMinutes: 17, ExecutionTimeoutSeconds: 5, GlobalExecutionConcurrency: 16, PerWorkerExecutionConcurrency: 99},
		AdminConfigForm: &pb.ConfigForm{Sections: []*pb.ConfigSection{{Title: "Scope", Fields: []*pb.ConfigField{
			field("mode", pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM, func(f *pb.ConfigField) {
				f.Options = []*pb.ConfigOption{{Value: "all"}, {Value: "some"}, {Value: "gone", Disabled: true}}
			}),
			field("filter", pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING, func(f *pb.ConfigField) {
				f.Required, f.VisibleWhenField, f.VisibleWhenEquals = true, "mode", translate.String("some")
				f.ValidationRules = []*pb.ValidationRule{
					{Type: pb.ValidationRuleType_VALIDATION_RULE_TYPE_REGEX, Expression: "^[a-z]+$"},
					{Type: pb.ValidationRuleType_VALIDATION_RULE_TYPE_MAX_LENGTH, Expression: "5"},
					{Type: pb.ValidationRuleType_VALIDATION_RULE_TYPE_REGEX, Expression: "(unclosed"},
				}
			}),
		}}}, DefaultValues: map[string]*pb.ConfigValue{"mode": translate.String("all")}},
		WorkerConfigForm: &pb.ConfigForm{Sections: []*pb.ConfigSection{{Fields: []*pb.ConfigField{
			field("threshold", pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE, func(f *pb.ConfigField) {
				f.MinValue, f.MaxValue = translate.Double(0), translate.Double(1)
			}),
			field("count", pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64, func(f *pb.ConfigField) { f.MinValue = translate.Int64(2) }),
			field("wait", pb.ConfigFieldType_CONFIG_FIELD_TYPE_DURATION, nil),
			field("on", pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL, nil),
			field("raw", pb.ConfigFieldType_CONFIG_FIELD_TYPE_BYTES, nil),
			field("tags", pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST, func(f *pb.ConfigField) {
				f.ValidationRules = []*pb.ValidationRule{{Type: pb.ValidationRuleType_VALIDATION_RULE_TYPE_MAX_ITEMS, Expression: "2"}}
			}),
			field("fixed", pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING, func(f *pb.ConfigField) { f.ReadOnly = true }),
		}}}, DefaultValues: map[string]*pb.ConfigValue{"threshold": translate.Double(0.3), "fixed": translate.String("x")}},
		WorkerDefaultValues: map[string]*pb.ConfigValue{"hidden_age": translate.Int64(0)},
	}
}

func compile(t *testing.T, d *pb.JobTypeDescriptor) *jsonschema.Schema {
	t.Helper()
	schema, err := translate.Schema(d)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("form.json", document))
	compiled, err := compiler.Compile("form.json")
	require.NoError(t, err)
	return compiled
}

func validate(t *testing.T, compiled *jsonschema.Schema, params string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(params))
	require.NoError(t, err)
	return compiled.Validate(value)
}

func TestFormsBecomeSchemas(t *testing.T) {
	t.Parallel()
	compiled := compile(t, descriptor())
	for params, valid := range map[string]bool{
		`{}`:                                          true,
		`{"worker":{"threshold":0.5}}`:                true,
		`{"worker":{"threshold":7.5}}`:                false,
		`{"worker":{"threshold":"0.5"}}`:              false,
		`{"worker":{"treshold":0.5}}`:                 false,
		`{"garbage":{}}`:                              false,
		`{"worker":{"count":1}}`:                      false,
		`{"worker":{"count":2.5}}`:                    false,
		`{"worker":{"count":3,"on":true}}`:            true,
		`{"worker":{"wait":1.5}}`:                     true,
		`{"worker":{"wait":"1h"}}`:                    false,
		`{"worker":{"tags":["a","b"]}}`:               true,
		`{"worker":{"tags":["a","b","c"]}}`:           false,
		`{"worker":{"fixed":"x"}}`:                    true,
		`{"worker":{"fixed":"y"}}`:                    false,
		`{"worker":{"hidden_age":60}}`:                true,
		`{"worker":{"hidden_age":"60"}}`:              false,
		`{"admin":{"mode":"all"}}`:                    true,
		`{"admin":{"mode":"gone"}}`:                   false,
		`{"admin":{"filter":"abc"}}`:                  false,
		`{"admin":{"mode":"some"}}`:                   false,
		`{"admin":{"mode":"some","filter":"abc"}}`:    true,
		`{"admin":{"mode":"some","filter":"a1"}}`:     false,
		`{"admin":{"mode":"some","filter":"abcdef"}}`: false,
	} {
		err := validate(t, compiled, params)
		assert.Equal(t, valid, err == nil, "%s: %v", params, err)
	}
}

func TestDescriptorsAreValid(t *testing.T) {
	t.Parallel()
	d, err := translate.Descriptor(&pb.JobTypeCapability{JobType: "vacuum", CanDetect: true, CanExecute: true, MaxExecutionConcurrency: 4}, descriptor())
	require.NoError(t, err)
	assert.Equal(t, "weed-vacuum", d.Name)
	assert.Equal(t, 4, d.MaxExecuteConcurrency)
	assert.Equal(t, 90*time.Second, d.DefaultPolicy.ExecutionTimeout.Std(), "the original's floor")
	assert.Equal(t, 16, d.DefaultPolicy.PerWorkerExecutionConcurrency, "at most the global one")
	hints, ok := translate.HintsOf(d)
	require.True(t, ok)
	assert.Equal(t, translate.Hints{JobType: "vacuum", Version: 3, Enabled: true, Every: jobtype.Duration(17 * time.Minute)}, hints)
	assert.Equal(t, 17*time.Minute, d.DefaultInterval.Std(), "as the worker says")
	for jobType, interval := range map[string]time.Duration{
		"vacuum": 2 * time.Hour, "volume_balance": 30 * time.Minute, "erasure_coding": 5 * time.Minute, "iceberg_maintenance": time.Hour, "other": 5 * time.Minute,
	} {
		silent, err := translate.Descriptor(&pb.JobTypeCapability{JobType: jobType, CanDetect: true}, nil)
		require.NoError(t, err)
		assert.Equal(t, interval, silent.DefaultInterval.Std(), jobType)
	}
	_, err = translate.Descriptor(&pb.JobTypeCapability{JobType: "Big Job", CanDetect: true}, nil)
	require.Error(t, err)
	bare, err := translate.Descriptor(&pb.JobTypeCapability{JobType: "x", CanExecute: true}, nil)
	require.NoError(t, err)
	assert.True(t, bare.ExecuteOnly)
	longest, err := translate.Descriptor(&pb.JobTypeCapability{JobType: "s3_lifecycle", CanDetect: true, CanExecute: true},
		&pb.JobTypeDescriptor{AdminRuntimeDefaults: &pb.AdminRuntimeDefaults{JobTypeMaxRuntimeSeconds: math.MaxInt32, ExecutionTimeoutSeconds: math.MaxInt32}})
	require.NoError(t, err, "68 years are within a year")
	assert.Equal(t, 365*24*time.Hour, longest.DefaultPolicy.MaxRuntime.Std())
}

func TestSettingsAreTypedByTheForm(t *testing.T) {
	t.Parallel()
	settings, err := translate.SettingsOf(descriptor(), json.RawMessage(`{"worker":{"threshold":1,"count":3.0,"wait":1.5,"tags":["a"],"raw":"AQI="},"weed":"ignored"}`))
	require.NoError(t, err)
	assert.InDelta(t, 1, settings.Worker["threshold"].GetDoubleValue(), 0, "a whole number where the form wants a fraction")
	assert.IsType(t, &pb.ConfigValue_DoubleValue{}, settings.Worker["threshold"].GetKind())
	assert.EqualValues(t, 3, settings.Worker["count"].GetInt64Value())
	assert.Equal(t, 1500*time.Millisecond, settings.Worker["wait"].GetDurationValue().AsDuration())
	assert.Equal(t, []string{"a"}, settings.Worker["tags"].GetStringList().GetValues())
	assert.Equal(t, []byte{1, 2}, settings.Worker["raw"].GetBytesValue())
	assert.Equal(t, "all", settings.Admin["mode"].GetStringValue(), "a default that was not written")
	assert.Contains(t, settings.Worker, "hidden_age")
	_, err = translate.SettingsOf(descriptor(), json.RawMessage(`{"worker":{"count":"many","threshold":true}}`))
	assert.ErrorContains(t, err, "params.worker.count")
	assert.ErrorContains(t, err, "params.worker.threshold")
}

func packer(t require.TestingT) *translate.Packer {
	p, err := translate.NewPacker()
	require.NoError(t, err)
	return p
}

// TestProposalsTravelVerbatim: including fields unknown to this program.
func TestProposalsTravelVerbatim(t *testing.T) {
	t.Parallel()
	p := packer(t)
	rapid.Check(t, func(t *rapid.T) {
		found := &pb.JobProposal{
			ProposalId: rapid.StringN(0, 20, 40).Draw(t, "id"), DedupeKey: rapid.StringMatching(`[a-z0-9:]{0,60}`).Draw(t, "key"), Summary: rapid.StringN(0, 300, 600).Draw(t, "summary"),
			Detail: rapid.StringN(0, 600, 1200).Draw(t, "detail"), Priority: pb.JobPriority(rapid.Int32Range(-1, 9).Draw(t, "priority")),
			Parameters: map[string]*pb.ConfigValue{"raw": {Kind: &pb.ConfigValue_BytesValue{BytesValue: rapid.SliceOfN(rapid.Byte(), 0, 900).Draw(t, "raw")}}, "n": translate.Double(math.Inf(1))},
			Labels:     map[string]string{"a": "b"}, NotBefore: &timestamppb.Timestamp{Seconds: rapid.Int64().Draw(t, "not before")},
		}
		found.ProtoReflect().SetUnknown([]byte{0xf8, 0x07, 0x2a}) // field 127: 42
		proposal := p.Proposal(found)
		require.NoError(t, proposal.Validate())
		back, err := p.Unpack(proposal.Params)
		require.NoError(t, err)
		require.True(t, proto.Equal(found, back), "%v\n%v", found, back)
		require.LessOrEqual(t, len(proposal.Summary), jobtype.MaxSummaryBytes)
		require.True(t, utf8.ValidString(proposal.Detail))
	})
}

func TestWhatDoesNotFitIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	proposal := packer(t).Proposal(&pb.JobProposal{DedupeKey: "k", Parameters: map[string]*pb.ConfigValue{"x": raw(noise(4 << 10))}})
	require.ErrorContains(t, proposal.Validate(), "limit")
	_, err := packer(t).Unpack(json.RawMessage(`{}`))
	require.ErrorContains(t, err, "roundsman start")
	for _, bad := range []string{`{"weed":"eA=="}`, `{"weed":"%%"}`, `{"weed":7}`, `[]`} {
		_, err := packer(t).Unpack(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
}

func TestABatchOfMovesFits(t *testing.T) {
	t.Parallel()
	found := &pb.JobProposal{DedupeKey: "volume_balance_batch:volume_balance:1+volume_balance:2", Summary: "move 100 volumes", Parameters: map[string]*pb.ConfigValue{}}
	var raw []byte
	for i := range 100 {
		// volume id, size, source, target: the parts of a move in a batch
		raw = append(raw, byte(i), byte(i>>8), byte(i*7), byte(i*13), byte(i*29), 0x3a)
		raw = append(raw, "volume-server-1.example.com:8080\x12volume-server-7.example.com:8080"...)
	}
	found.Parameters["task_params_pb"] = &pb.ConfigValue{Kind: &pb.ConfigValue_BytesValue{BytesValue: raw}}
	proposal := packer(t).Proposal(found)
	require.NoError(t, proposal.Validate())
	assert.Equal(t, []string{"volume/1", "volume/2"}, proposal.Exclusive)
}

func TestVolumesOfAProposal(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][]string{
		"vacuum:7": {"volume/7"}, "vacuum:7:photos": {"volume/7"}, "erasure_coding:12:a:b": {"volume/12"}, "ec_balance:3": {"volume/3"},
		"admin-script:abc": nil, "iceberg_maintenance:b/n/1": nil, "": nil, "xvacuum:7": nil,
	} {
		assert.Equal(t, want, packer(t).Proposal(&pb.JobProposal{DedupeKey: key}).Exclusive, key)
	}
	withID := &pb.JobProposal{DedupeKey: "other", Parameters: map[string]*pb.ConfigValue{"volume_id": translate.Int64(9)}}
	assert.Equal(t, []string{"volume/9"}, packer(t).Proposal(withID).Exclusive)
}

func TestAddressesAreCheckedBeforeAWorkerSeesThem(t *testing.T) {
	t.Parallel()
	cluster, err := translate.ClusterOf(json.RawMessage(`{"masters":["m1:9333","m2:9333.19444","m3:9333.19333"],"filers":["[::1]:8888"],"s3":["s3.example.com:8333"],"other":1}`))
	require.NoError(t, err)
	settings := translate.Settings{Admin: map[string]*pb.ConfigValue{"cluster_deletes_per_second": translate.Double(12.5)}}
	context := cluster.Context("s3_lifecycle", settings)
	assert.Equal(t, []string{"m1:9333", "m2:19444", "m3:9333"}, context.GetMasterGrpcAddresses(), "a detection tries the port as it is, and that + 10000")
	assert.Equal(t, []string{"m1:9333", "m2:9333.19444", "m3:9333"}, cluster.Context("admin_script", settings).GetMasterGrpcAddresses(), "the shell knows the dotted form alone")
	assert.Equal(t, []string{"[::1]:8888"}, context.GetFilerAddresses())
	assert.Equal(t, []string{"s3.example.com:18333"}, context.GetS3GrpcAddresses())
	assert.Equal(t, map[string]string{"s3_lifecycle.deletes_per_second": "12.5"}, context.GetMetadata())
	for _, bad := range []string{"", "m1", ":9333", "m1:", "m1:0", "m1:99999", "m1:60000", "m1:9333.", "m1:9333.0", "m 1:9333", "m1:9333x", "http://m1:9333", "m1:+933", "::1:9333", "[::1:9333", "[fe80::1%eth0]:1", "m1:9333,m2:9333", "-m:1", "m1:9333\n"} {
		encoded, err := json.Marshal(map[string][]string{"masters": {"ok:9333"}, "filers": {bad}})
		require.NoError(t, err)
		_, err = translate.ClusterOf(encoded)
		assert.ErrorContains(t, err, "cluster.filers[0]", "%q", bad)
	}
}

func TestResultsFit(t *testing.T) {
	t.Parallel()
	result := translate.Result(&pb.JobResult{Summary: "two\nlines", OutputValues: map[string]*pb.ConfigValue{
		"output": translate.String(strings.Repeat("é", 20_000)), "error_count": translate.Int64(0), "nan": translate.Double(math.NaN()),
		"huge": translate.String(strings.Repeat("x", 64<<20)),
	}})
	encoded, err := json.Marshal(result)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded), jobtype.MaxResultBytes)
	assert.Equal(t, "two lines", result.Summary)
	assert.LessOrEqual(t, len(result.Output), jobtype.MaxOutputBytes)
	assert.True(t, utf8.ValidString(result.Output))
	assert.EqualValues(t, 0, result.Data["error_count"])
	assert.NotContains(t, result.Data, "huge")
	assert.Equal(t, 1, result.Data["values_left_out"])
}
