package translate_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
)

// noise is incompressible.
func noise(size int) []byte {
	all, state := make([]byte, size), uint32(1)
	for i := range all {
		state = state*1664525 + 1013904223
		all[i] = byte(state >> 24)
	}
	return all
}

func raw(data []byte) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_BytesValue{BytesValue: data}}
}

func wait(d time.Duration) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_DurationValue{DurationValue: durationpb.New(d)}}
}

// TestAResultFitsWhateverItContains: a result that does not fit would turn done work into a failure.
func TestAResultFitsWhateverItContains(t *testing.T) {
	t.Parallel()
	const large = 256 << 10
	many := map[string]*pb.ConfigValue{}
	for i := range 4000 {
		many[fmt.Sprintf("<value %d>", i)] = translate.Int64(int64(i))
	}
	for name, done := range map[string]*pb.JobResult{
		"markup":      {Summary: strings.Repeat("<", large), OutputValues: map[string]*pb.ConfigValue{"output": translate.String(strings.Repeat("&", large) + "end"), "a": translate.String(strings.Repeat("<", 30_000))}},
		"controls":    {OutputValues: map[string]*pb.ConfigValue{"output": translate.String(strings.Repeat("\x1b[0m\x00", large) + "end"), "a": translate.String(strings.Repeat("\x01", 9_000))}},
		"quotes":      {OutputValues: map[string]*pb.ConfigValue{"output": translate.String(strings.Repeat(`"\`, large) + "end"), "a": translate.String(strings.Repeat(`"`, 30_000))}},
		"bytes":       {OutputValues: map[string]*pb.ConfigValue{"output": translate.String("end"), "a": raw(noise(30_000)), "b": raw(noise(10_000))}},
		"long names":  {OutputValues: map[string]*pb.ConfigValue{"output": translate.String("end"), strings.Repeat("é", 40_000): translate.Int64(1)}},
		"many values": {OutputValues: many},
		"no text":     {OutputValues: map[string]*pb.ConfigValue{"output": translate.Int64(3)}},
		"nothing":     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := translate.Result(done)
			encoded, err := json.Marshal(result)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(encoded), jobtype.MaxResultBytes)
			assert.True(t, utf8.ValidString(result.Output))
			if done.GetOutputValues()["output"].GetStringValue() != "" {
				assert.True(t, strings.HasSuffix(result.Output, "end"), "the end of an output is kept")
			}
			kept := len(result.Data)
			if left, some := result.Data["values_left_out"].(int); some {
				kept += left - 1
			}
			if result.Output != "" {
				kept++
			}
			assert.Equal(t, len(done.GetOutputValues()), kept, "each value is there or counted")
		})
	}
}

// batch is the proposal of a worker for many volumes. Above 200 bytes its key is a hash.
func batch(volumes int) *pb.JobProposal {
	task := &pb.BalanceTask{Balance: &pb.BalanceMoves{}}
	for i := range volumes {
		task.Balance.Moves = append(task.Balance.Moves, &pb.BalanceMove{
			VolumeId: uint32(10_000 + 17*i), SourceNode: fmt.Sprintf("volume-server-%d.example.com:8080", i%7), TargetNode: fmt.Sprintf("volume-server-%d.example.com:8080", 7+i%5),
		})
		// The size of the volume, which this program does not read.
		task.Balance.Moves[i].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), uint64(i)*2_654_435_761%(30<<30)))
	}
	data, _ := proto.Marshal(task)
	return &pb.JobProposal{
		JobType: "volume_balance", DedupeKey: "volume_balance_batch:0-0123456789abcdef01234567", Summary: fmt.Sprintf("Batch balance %d volumes", volumes),
		Detail: strings.Repeat("detail ", 100), Parameters: map[string]*pb.ConfigValue{"task_params_pb": raw(data), "estimated_runtime_seconds": translate.Int64(600)},
	}
}

// TestALargeBatchExcludesOtherWorkOnItsVolumes: its key names no volume.
func TestALargeBatchExcludesOtherWorkOnItsVolumes(t *testing.T) {
	t.Parallel()
	for _, volumes := range []int{2, 20, 100} {
		proposal := packer(t).Proposal(batch(volumes))
		require.NoError(t, proposal.Validate())
		require.Len(t, proposal.Exclusive, volumes)
		assert.Equal(t, translate.Volume("10000"), proposal.Exclusive[0])
		assert.Equal(t, jobtype.Duration(10*time.Minute), proposal.EstimatedRuntime)
	}
}

func TestMovesOfWork(t *testing.T) {
	t.Parallel()
	one := map[string]*pb.ConfigValue{"volume_id": translate.Int64(7), "source_server": translate.String("a:1"), "target_server": translate.String("b:1")}
	garbage := map[string]*pb.ConfigValue{"task_params_pb": raw([]byte{0xff}), "volume_id": translate.Int64(7), "source_server": translate.String("a:1")}
	for name, c := range map[string]struct {
		job  *pb.JobSpec
		want []uint32
	}{
		"a batch":             {&pb.JobSpec{JobType: "volume_balance", Parameters: batch(2).GetParameters()}, []uint32{10_000, 10_017}},
		"one move":            {&pb.JobSpec{JobType: "volume_balance", Parameters: one}, []uint32{7}},
		"another job type":    {&pb.JobSpec{JobType: "ec_balance", Parameters: one}, nil},
		"unreadable":          {&pb.JobSpec{JobType: "volume_balance", Parameters: garbage}, []uint32{7}},
		"a batch of nothing":  {&pb.JobSpec{JobType: "volume_balance", Parameters: batch(0).GetParameters()}, nil},
		"without a source":    {&pb.JobSpec{JobType: "volume_balance", Parameters: map[string]*pb.ConfigValue{"volume_id": translate.Int64(7)}}, nil},
		"without any of them": {&pb.JobSpec{JobType: "volume_balance"}, nil},
		"no job":              {nil, nil},
	} {
		var got []uint32
		for _, move := range translate.Moves(c.job) {
			got = append(got, move.GetVolumeId())
		}
		assert.Equal(t, c.want, got, name)
	}
}

// TestNumbersOfAnyWorkerMakeAValidDescriptor: one number out of range would take the job type from the fleet.
func TestNumbersOfAnyWorkerMakeAValidDescriptor(t *testing.T) {
	t.Parallel()
	check := func(t require.TestingT, number func() int32) {
		defaults := &pb.AdminRuntimeDefaults{
			DetectionIntervalMinutes: number(), DetectionTimeoutSeconds: number(), MaxJobsPerDetection: number(), GlobalExecutionConcurrency: number(),
			PerWorkerExecutionConcurrency: number(), RetryLimit: number(), RetryBackoffSeconds: number(), JobTypeMaxRuntimeSeconds: number(), ExecutionTimeoutSeconds: number(),
		}
		d, err := translate.Descriptor(&pb.JobTypeCapability{
			JobType: "vacuum", CanDetect: true, CanExecute: true, MaxDetectionConcurrency: number(), MaxExecutionConcurrency: number(),
		}, &pb.JobTypeDescriptor{JobType: "vacuum", AdminRuntimeDefaults: defaults})
		require.NoError(t, err, "%v", defaults)
		require.Positive(t, d.DefaultInterval)
		require.LessOrEqual(t, d.DefaultPolicy.PerWorkerExecutionConcurrency, d.DefaultPolicy.GlobalExecutionConcurrency)
		hints, ok := translate.HintsOf(d)
		require.True(t, ok)
		require.Equal(t, d.DefaultInterval, hints.Every)
	}
	for _, extreme := range []int32{math.MinInt32, -1, 0, 1, 525_600, 525_601, 1 << 28, math.MaxInt32} {
		check(t, func() int32 { return extreme })
	}
	rapid.Check(t, func(t *rapid.T) { check(t, func() int32 { return rapid.Int32().Draw(t, "number") }) })
}

// TestADefaultCanBeWrittenBack: the console shows the default of the schema, and sends it.
func TestADefaultCanBeWrittenBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		defaults := map[string]*pb.ConfigValue{
			"bool": translate.Bool(rapid.Bool().Draw(t, "bool")), "whole": translate.Int64(rapid.Int64().Draw(t, "whole")),
			"real":  translate.Double(rapid.Float64().Draw(t, "real")),
			"round": translate.Double(float64(rapid.Int32().Draw(t, "round"))), "text": translate.String(rapid.String().Draw(t, "text")),
			"wait":  wait(time.Duration(rapid.IntRange(-100_000, 100_000_000).Draw(t, "ms")) * time.Millisecond),
			"bytes": raw(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")),
			"list":  {Kind: &pb.ConfigValue_StringList{StringList: &pb.StringList{Values: rapid.SliceOf(rapid.String()).Draw(t, "list")}}},
			"map":   {Kind: &pb.ConfigValue_MapValue{MapValue: &pb.ValueMap{Fields: map[string]*pb.ConfigValue{"a": translate.Bool(true), "b": {Kind: &pb.ConfigValue_ListValue{ListValue: &pb.ValueList{Values: []*pb.ConfigValue{translate.Int64(1), translate.String("x")}}}}}}}},
		}
		d := &pb.JobTypeDescriptor{WorkerDefaultValues: defaults}
		schema, err := translate.Schema(d)
		require.NoError(t, err)
		var shown struct {
			Properties struct {
				Worker struct {
					Properties map[string]struct{ Default json.RawMessage }
				}
			}
		}
		require.NoError(t, json.Unmarshal(schema, &shown))
		written := map[string]json.RawMessage{}
		for name, property := range shown.Properties.Worker.Properties {
			written[name] = property.Default
		}
		params, err := json.Marshal(map[string]any{translate.WorkerKey: written})
		require.NoError(t, err)
		settings, err := translate.SettingsOf(d, params)
		require.NoError(t, err)
		require.Len(t, settings.Worker, len(defaults))
		for name, value := range defaults {
			require.True(t, proto.Equal(value, settings.Worker[name]), "%s: %v became %v", name, value, settings.Worker[name])
		}
	})
}

func TestSettingsThatDoNotFitTheForm(t *testing.T) {
	t.Parallel()
	d := descriptor()
	before := proto.Clone(d)
	for params, fault := range map[string]string{
		`[]`:                           "params must be a JSON object",
		`{"worker":[]}`:                "params.worker must be a JSON object",
		`{"admin":7}`:                  "params.admin must be a JSON object",
		`{"worker":{"count":1e99}}`:    "params.worker.count",
		`{"worker":{"count":2.5}}`:     "params.worker.count",
		`{"worker":{"count":null}}`:    "params.worker.count",
		`{"worker":{"wait":1e300}}`:    "params.worker.wait",
		`{"worker":{"wait":-1e11}}`:    "params.worker.wait",
		`{"worker":{"on":1}}`:          "params.worker.on",
		`{"worker":{"raw":"%%"}}`:      "params.worker.raw",
		`{"worker":{"raw":7}}`:         "params.worker.raw",
		`{"worker":{"tags":["a",7]}}`:  "params.worker.tags",
		`{"worker":{"tags":"a"}}`:      "params.worker.tags",
		`{"admin":{"mode":true}}`:      "params.admin.mode",
		`{"admin":{"new":null}}`:       "params.admin.new",
		`{"admin":{"new":[1,null]}}`:   "params.admin.new",
		`{"admin":{"new":{"a":null}}}`: "params.admin.new",
		`{"admin":{"new":1e999}}`:      "params.admin.new",
	} {
		_, err := translate.SettingsOf(d, json.RawMessage(params))
		assert.ErrorContains(t, err, fault, params)
	}
	for _, params := range []string{``, ` `, `null`, `{}`, `{"worker":null}`, `{"worker":{}}`} {
		settings, err := translate.SettingsOf(d, json.RawMessage(params))
		require.NoError(t, err, "%q", params)
		assert.InDelta(t, 0.3, settings.Worker["threshold"].GetDoubleValue(), 0, "%q", params)
	}
	guessed, err := translate.SettingsOf(nil, json.RawMessage(`{"admin":{"a":1,"b":1.5,"c":["x"],"d":[1,"x"],"e":{"f":true},"g":9223372036854775808}}`))
	require.NoError(t, err)
	assert.IsType(t, &pb.ConfigValue_Int64Value{}, guessed.Admin["a"].GetKind())
	assert.IsType(t, &pb.ConfigValue_DoubleValue{}, guessed.Admin["b"].GetKind())
	assert.IsType(t, &pb.ConfigValue_StringList{}, guessed.Admin["c"].GetKind())
	assert.IsType(t, &pb.ConfigValue_ListValue{}, guessed.Admin["d"].GetKind())
	assert.True(t, guessed.Admin["e"].GetMapValue().GetFields()["f"].GetBoolValue())
	assert.IsType(t, &pb.ConfigValue_DoubleValue{}, guessed.Admin["g"].GetKind(), "above 63 bits")
	_, err = translate.SettingsOf(d, json.RawMessage(`{"worker":{"threshold":0.9},"admin":{"mode":"some"}}`))
	require.NoError(t, err)
	assert.True(t, proto.Equal(before, d), "settings of one job never change the form, which all jobs read")
	bare := &pb.JobTypeDescriptor{WorkerDefaultValues: map[string]*pb.ConfigValue{"age": translate.Int64(1)}}
	_, err = translate.SettingsOf(bare, json.RawMessage(`{"worker":{"age":2}}`))
	require.NoError(t, err)
	assert.EqualValues(t, 1, bare.GetWorkerDefaultValues()["age"].GetInt64Value(), "nor the defaults of a worker without a form")
}

// TestFormsOfAnyWorker: a form with faults of its own must not refuse settings that the worker takes.
func TestFormsOfAnyWorker(t *testing.T) {
	t.Parallel()
	const (
		text = pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING
		enum = pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM
		list = pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST
	)
	options := []*pb.ConfigOption{{Value: "a"}, {Value: "b", Disabled: true}}
	rule := func(kind pb.ValidationRuleType, expression string) []*pb.ValidationRule {
		return []*pb.ValidationRule{{Type: kind, Expression: expression}}
	}
	shown := func(name string, required bool) *pb.ConfigField {
		return &pb.ConfigField{Name: name, FieldType: text, Required: required, VisibleWhenField: "on", VisibleWhenEquals: translate.Bool(true)}
	}
	on := &pb.ConfigField{Name: "on", FieldType: pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL}
	isOn := map[string]*pb.ConfigValue{"on": translate.Bool(true)}
	for name, c := range map[string]struct {
		fields   []*pb.ConfigField
		defaults map[string]*pb.ConfigValue
		good     []string
		bad      []string
	}{
		"required":                         {[]*pb.ConfigField{{Name: "x", FieldType: text, Required: true}}, nil, []string{`{"admin":{"x":"a"}}`}, []string{`{}`, `{"admin":{}}`, `{"admin":{"x":""}}`}},
		"required, with a default":         {[]*pb.ConfigField{{Name: "x", FieldType: text, Required: true}}, map[string]*pb.ConfigValue{"x": translate.String("a")}, []string{`{}`, `{"admin":{}}`}, nil},
		"required, and nobody can set it":  {[]*pb.ConfigField{{Name: "x", FieldType: text, Required: true, ReadOnly: true}}, nil, []string{`{}`, `{"admin":{}}`}, []string{`{"admin":{"x":"a"}}`}},
		"required when shown, and shown":   {[]*pb.ConfigField{on, shown("x", true)}, isOn, []string{`{"admin":{"x":"a"}}`, `{"admin":{"on":false}}`}, []string{`{}`, `{"admin":{}}`, `{"admin":{"on":true}}`, `{"admin":{"on":false,"x":"a"}}`}},
		"required when shown, and hidden":  {[]*pb.ConfigField{on, shown("x", true)}, nil, []string{`{}`, `{"admin":{"on":true,"x":"a"}}`}, []string{`{"admin":{"x":"a"}}`, `{"admin":{"on":true}}`}},
		"optional when shown, and shown":   {[]*pb.ConfigField{on, shown("x", false)}, isOn, []string{`{}`, `{"admin":{"x":"a"}}`}, []string{`{"admin":{"on":false,"x":"a"}}`}},
		"shown by a field that is missing": {[]*pb.ConfigField{shown("x", true)}, nil, []string{`{}`}, []string{`{"admin":{"x":"a"}}`}},
		"a name twice, and none":           {[]*pb.ConfigField{{Name: "x", FieldType: text}, {Name: "x", FieldType: list}, {FieldType: text, Required: true}}, nil, []string{`{}`, `{"admin":{"x":"a"}}`}, []string{`{"admin":{"x":["a"]}}`}},
		"a default that is no option":      {[]*pb.ConfigField{{Name: "x", FieldType: enum, Required: true, Options: options}}, map[string]*pb.ConfigValue{"x": translate.String("")}, []string{`{"admin":{"x":"a"}}`, `{"admin":{"x":""}}`}, []string{`{"admin":{"x":"b"}}`, `{"admin":{"x":"c"}}`}},
		"a default that is an option":      {[]*pb.ConfigField{{Name: "x", FieldType: enum, Options: options}}, map[string]*pb.ConfigValue{"x": translate.String("a")}, []string{`{"admin":{"x":"a"}}`}, []string{`{"admin":{"x":"c"}}`}},
		"all options disabled":             {[]*pb.ConfigField{{Name: "x", FieldType: enum, Options: options[1:]}}, nil, []string{`{"admin":{"x":"c"}}`}, []string{`{"admin":{"x":1}}`}},
		"options of a list":                {[]*pb.ConfigField{{Name: "x", FieldType: list, Options: options}}, nil, []string{`{"admin":{"x":[]}}`, `{"admin":{"x":["a"]}}`}, []string{`{"admin":{"x":["c"]}}`}},
		"suggestions for a text":           {[]*pb.ConfigField{{Name: "x", FieldType: text, Options: options}}, nil, []string{`{"admin":{"x":"c"}}`}, nil},
		"lengths":                          {[]*pb.ConfigField{{Name: "x", FieldType: text, ValidationRules: rule(pb.ValidationRuleType_VALIDATION_RULE_TYPE_MIN_LENGTH, "2")}}, nil, []string{`{"admin":{"x":"ab"}}`}, []string{`{"admin":{"x":"a"}}`}},
		"a length below zero":              {[]*pb.ConfigField{{Name: "x", FieldType: text, ValidationRules: rule(pb.ValidationRuleType_VALIDATION_RULE_TYPE_MAX_LENGTH, "-1")}}, nil, []string{`{"admin":{"x":"ab"}}`}, nil},
		"a number of items":                {[]*pb.ConfigField{{Name: "x", FieldType: list, ValidationRules: rule(pb.ValidationRuleType_VALIDATION_RULE_TYPE_MIN_ITEMS, "1")}}, nil, []string{`{"admin":{"x":["a"]}}`}, []string{`{"admin":{"x":[]}}`}},
		"no number of items":               {[]*pb.ConfigField{{Name: "x", FieldType: list, ValidationRules: rule(pb.ValidationRuleType_VALIDATION_RULE_TYPE_MIN_ITEMS, "many")}}, nil, []string{`{"admin":{"x":[]}}`}, nil},
		"a limit that is no number":        {[]*pb.ConfigField{{Name: "x", FieldType: pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE, MinValue: translate.Double(math.NaN()), MaxValue: translate.Double(math.Inf(1))}}, nil, []string{`{"admin":{"x":-1e300}}`}, nil},
		"limits of a duration":             {[]*pb.ConfigField{{Name: "x", FieldType: pb.ConfigFieldType_CONFIG_FIELD_TYPE_DURATION, MinValue: wait(time.Minute)}}, nil, []string{`{"admin":{"x":60}}`}, []string{`{"admin":{"x":59.5}}`}},
		"a default that is no number":      {[]*pb.ConfigField{{Name: "x", FieldType: pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE}}, map[string]*pb.ConfigValue{"x": translate.Double(math.NaN())}, []string{`{}`, `{"admin":{"x":1}}`}, nil},
		"an object":                        {[]*pb.ConfigField{{Name: "x", FieldType: pb.ConfigFieldType_CONFIG_FIELD_TYPE_OBJECT}}, nil, []string{`{"admin":{"x":{"a":1}}}`}, []string{`{"admin":{"x":1}}`}},
		"no type":                          {[]*pb.ConfigField{{Name: "x"}}, nil, []string{`{"admin":{"x":1}}`, `{"admin":{"x":"a"}}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled := compile(t, &pb.JobTypeDescriptor{AdminConfigForm: &pb.ConfigForm{Sections: []*pb.ConfigSection{{Fields: c.fields}}, DefaultValues: c.defaults}})
			for _, params := range c.good {
				assert.NoError(t, validate(t, compiled, params), params)
			}
			for _, params := range c.bad {
				assert.Error(t, validate(t, compiled, params), params)
			}
		})
	}
}

func TestPackedProposalsHaveALimit(t *testing.T) {
	t.Parallel()
	p := packer(t)
	const limit = 1 << 20
	sized := func(size int) *pb.JobProposal {
		found := &pb.JobProposal{DedupeKey: "k", Detail: strings.Repeat("x", size)}
		for proto.Size(found) > size {
			found.Detail = found.GetDetail()[1:]
		}
		return found
	}
	largest := sized(limit)
	require.Equal(t, limit, proto.Size(largest))
	params, err := p.Pack(largest)
	require.NoError(t, err)
	require.Less(t, len(params), jobtype.MaxProposalBytes)
	back, err := p.Unpack(params)
	require.NoError(t, err, "what can be packed can be unpacked")
	require.True(t, proto.Equal(largest, back))
	_, err = p.Pack(sized(limit + 1))
	require.ErrorContains(t, err, "the limit is 1048576")

	hard := &pb.JobProposal{DedupeKey: "k", Parameters: map[string]*pb.ConfigValue{"x": raw(noise(2000))}}
	params, err = p.Pack(hard)
	require.NoError(t, err)
	require.Len(t, params, len(`{"weed":""}`)+base64.StdEncoding.EncodedLen(1+proto.Size(hard)), "what does not compress is not made larger")
	back, err = p.Unpack(params)
	require.NoError(t, err)
	require.True(t, proto.Equal(hard, back))
}

// TestParamsOfAnybodyAreUnpackedWithinBounds: every operator can write them.
func TestParamsOfAnybodyAreUnpackedWithinBounds(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	encoder, err := zstd.NewWriter(&bomb, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	large, err := proto.Marshal(&pb.JobProposal{Detail: strings.Repeat("x", 8<<20)})
	require.NoError(t, err)
	_, err = encoder.Write(large) // A stream, so its head has no size.
	require.NoError(t, err)
	require.NoError(t, encoder.Close())
	require.Less(t, bomb.Len(), 16<<10)
	p := packer(t)
	whole, err := p.Pack(&pb.JobProposal{Detail: strings.Repeat("words ", 1000)})
	require.NoError(t, err)
	var carried map[string]string
	require.NoError(t, json.Unmarshal(whole, &carried))
	packed, err := base64.StdEncoding.DecodeString(carried["weed"])
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"a bomb": append([]byte("z"), bomb.Bytes()...), "cut": packed[:len(packed)-3], "not compressed": []byte("zplain"), "no proposal": {'p', 0xff}, "another form": {'q', 1},
	} {
		params, err := json.Marshal(map[string][]byte{"weed": data})
		require.NoError(t, err)
		proposal, err := p.Unpack(params)
		assert.ErrorContains(t, err, "params.weed", name)
		assert.Nil(t, proposal, name)
	}
	_, err = p.Job(jobtype.Job{}, "vacuum", time.Now())
	require.ErrorContains(t, err, "roundsman start")
}

func TestOnePackerServesAllJobs(t *testing.T) {
	t.Parallel()
	p := packer(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				found := &pb.JobProposal{DedupeKey: fmt.Sprintf("vacuum:%d", i), Detail: strings.Repeat(fmt.Sprint(i, n), 400)}
				job, err := p.Job(jobtype.Job{ID: "j", Params: p.Proposal(found).Params}, "vacuum", time.Now())
				if assert.NoError(t, err) {
					assert.Equal(t, found.GetDetail(), job.GetDetail())
				}
			}
		})
	}
	all.Wait()
}

func TestProposalsOfAnyWorker(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: seconds} }
	estimate := func(v *pb.ConfigValue) map[string]*pb.ConfigValue {
		return map[string]*pb.ConfigValue{"estimated_runtime_seconds": v}
	}
	for name, c := range map[string]struct {
		found *pb.JobProposal
		want  jobtype.Proposal
	}{
		"an endless estimate":     {&pb.JobProposal{Parameters: estimate(translate.Int64(math.MaxInt64))}, jobtype.Proposal{EstimatedRuntime: jobtype.MaxEstimatedRuntime}},
		"a negative estimate":     {&pb.JobProposal{Parameters: estimate(translate.Int64(-5))}, jobtype.Proposal{}},
		"an estimate as text":     {&pb.JobProposal{Parameters: estimate(translate.String("5"))}, jobtype.Proposal{}},
		"critical":                {&pb.JobProposal{Priority: pb.JobPriority_JOB_PRIORITY_CRITICAL}, jobtype.Proposal{Priority: jobtype.PriorityCritical}},
		"high":                    {&pb.JobProposal{Priority: pb.JobPriority_JOB_PRIORITY_HIGH}, jobtype.Proposal{Priority: jobtype.PriorityHigh}},
		"low":                     {&pb.JobProposal{Priority: pb.JobPriority_JOB_PRIORITY_LOW}, jobtype.Proposal{Priority: jobtype.PriorityLow}},
		"a priority of tomorrow":  {&pb.JobProposal{Priority: 77}, jobtype.Proposal{}},
		"the year 300 billion":    {&pb.JobProposal{NotBefore: at(math.MaxInt64), ExpiresAt: at(math.MaxInt64)}, jobtype.Proposal{}},
		"before the epoch":        {&pb.JobProposal{NotBefore: at(-1), ExpiresAt: at(0)}, jobtype.Proposal{}},
		"a volume below zero":     {&pb.JobProposal{Parameters: map[string]*pb.ConfigValue{"volume_id": translate.Int64(-1)}}, jobtype.Proposal{}},
		"a volume twice":          {&pb.JobProposal{DedupeKey: "vacuum:7+vacuum:7", Parameters: map[string]*pb.ConfigValue{"volume_id": translate.Int64(7)}}, jobtype.Proposal{DedupeKey: "vacuum:7+vacuum:7", Exclusive: []string{"volume/7"}}},
		"a summary in many lines": {&pb.JobProposal{Summary: strings.Repeat(" \n", 1000) + "move\r\n 7"}, jobtype.Proposal{Summary: "move 7"}},
		"a volume of 20 digits":   {&pb.JobProposal{DedupeKey: "vacuum:12345678901234567890"}, jobtype.Proposal{DedupeKey: "vacuum:12345678901234567890"}},
	} {
		got := packer(t).Proposal(c.found)
		require.NoError(t, got.Validate(), name)
		if c.want.Priority == "" {
			c.want.Priority = jobtype.PriorityNormal
		}
		c.want.Params = got.Params
		assert.Equal(t, c.want, got, name)
	}
	for name, found := range map[string]*pb.JobProposal{
		"it ends before it begins": {NotBefore: at(2000), ExpiresAt: at(1000)},
		"a key without an end":     {DedupeKey: strings.Repeat("k", jobtype.MaxDedupeKeyBytes+1)},
		"a text that is no UTF-8":  {Detail: "\xff"},
	} {
		assert.Error(t, packer(t).Proposal(found).Validate(), name)
	}
	shown := packer(t).Proposal(&pb.JobProposal{Summary: "s", Detail: strings.Repeat("<", 600), Parameters: map[string]*pb.ConfigValue{"x": raw(noise(2200))}})
	require.NoError(t, shown.Validate(), "the shown texts yield to the worker's data")
	assert.Empty(t, shown.Detail)
	assert.Equal(t, "s", shown.Summary)
}

func TestJobIDsAreNamesOfDirectories(t *testing.T) {
	t.Parallel()
	job := jobtype.Job{GroupID: "group/vacuum/../../etc\x00é", ID: "job-7"}
	id := translate.JobID("vacuum", job)
	assert.Equal(t, "vacuum-vacuum-..-..-etc---job-7", id)
	job.Attempt = 3
	assert.Equal(t, id, translate.JobID("vacuum", job), "each attempt has the directory of the first one")
}

func TestClusterBlocks(t *testing.T) {
	t.Parallel()
	for _, empty := range []string{``, ` `, `null`, `{}`, `{"masters":null}`} {
		cluster, err := translate.ClusterOf(json.RawMessage(empty))
		require.NoError(t, err, "%q", empty)
		assert.Empty(t, cluster.Context("vacuum", translate.Settings{}).GetMasterGrpcAddresses())
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = "m:1"
	}
	block, err := json.Marshal(map[string][]string{"masters": many, "filers": {"f", "f:1", "g"}})
	require.NoError(t, err)
	_, err = translate.ClusterOf(block)
	for _, fault := range []string{"cluster.masters has 101 addresses", "cluster.filers[0]", "cluster.filers[2]"} {
		require.ErrorContains(t, err, fault)
	}
	for _, bad := range []string{`[]`, `{"masters":"m:1"}`, `{"masters":[7]}`, `{`} {
		_, err = translate.ClusterOf(json.RawMessage(bad))
		require.ErrorContains(t, err, "cluster:", bad)
	}
	cluster, err := translate.ClusterOf(json.RawMessage(`{"masters":["[::1]:9333.19333","[::1]:9333.7000"]}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"[::1]:9333", "[::1]:7000"}, cluster.Context("vacuum", translate.Settings{}).GetMasterGrpcAddresses())
	for value, want := range map[*pb.ConfigValue]string{
		translate.Int64(5): "5", translate.Double(0.25): "0.25", translate.Double(1e21): "1000000000000000000000", translate.Double(0): "", translate.Int64(-1): "",
		translate.Double(math.NaN()): "", translate.Double(math.Inf(1)): "", translate.String("5"): "", nil: "",
	} {
		settings := translate.Settings{Admin: map[string]*pb.ConfigValue{"cluster_deletes_burst": value}}
		assert.Equal(t, want, cluster.Context("s3_lifecycle", settings).GetMetadata()["s3_lifecycle.deletes_burst"], "%v", value)
		assert.Empty(t, cluster.Context("vacuum", settings).GetMetadata())
	}
}

// TestEveryJobTypeOfAWorkerHasItsRules: an unknown one is treated as one that changes volumes.
func TestEveryJobTypeOfAWorkerHasItsRules(t *testing.T) {
	t.Parallel()
	for _, jobType := range append(translate.JobTypes(), "of tomorrow") {
		for _, list := range translate.Needs(jobType) {
			assert.Contains(t, []string{"masters", "filers", "s3"}, list)
		}
		if translate.Mutates(jobType) {
			assert.Contains(t, translate.Needs(jobType), "masters", "%s: the shell lease is held at a master", jobType)
		}
	}
}

func TestTheTimeLeftIsBounded(t *testing.T) {
	t.Parallel()
	d := &pb.JobTypeDescriptor{AdminRuntimeDefaults: &pb.AdminRuntimeDefaults{DetectionTimeoutSeconds: 45, ExecutionTimeoutSeconds: 90, MaxJobsPerDetection: 7}}
	for left, want := range map[time.Duration]int32{0: 0, -time.Hour: 0, time.Minute: 60, math.MaxInt64: 0} {
		detect, execute := translate.DetectRuntime(d, int(left), left), translate.ExecuteRuntime(d, left)
		if want == 0 {
			assert.Equal(t, []int32{45, 90}, []int32{detect.GetDetectionTimeoutSeconds(), execute.GetExecutionTimeoutSeconds()}, left)
			assert.EqualValues(t, 7, detect.GetMaxJobsPerDetection(), left)
			continue
		}
		assert.Equal(t, []int32{want, want}, []int32{detect.GetDetectionTimeoutSeconds(), execute.GetExecutionTimeoutSeconds()}, left)
	}
	assert.EqualValues(t, 45, d.GetAdminRuntimeDefaults().GetDetectionTimeoutSeconds(), "the form is shared")
	assert.Zero(t, translate.Count(math.MaxInt64))
	assert.Zero(t, translate.Count(-1))
}
