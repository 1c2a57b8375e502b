package pluginpb_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// wire is the control stream of SeaweedFS 4.44 with each field's number. A minus marks a field that this repository does
// not read. Its number must not be reused.
const wire = `
WorkerToAdminMessage worker_id 1 sent_at 2 hello 10 heartbeat 11 acknowledge 12 config_schema_response 13 detection_proposals 14 detection_complete 15 job_progress_update 16 job_completed 17 observations 18 object_preview_response 19
AdminToWorkerMessage request_id 1 sent_at 2 hello 10 request_config_schema 11 run_detection_request 12 execute_job_request 13 cancel_request 14 shutdown 15 -request_object_preview 16
WorkerHello worker_id 1 worker_instance_id 2 address 3 worker_version 4 protocol_version 5 capabilities 6 metadata 7
AdminHello accepted 1 message 2 heartbeat_interval_seconds 3 reconnect_delay_seconds 4
JobTypeCapability job_type 1 can_detect 2 can_execute 3 max_detection_concurrency 4 max_execution_concurrency 5 display_name 6 description 7 -weight 8
WorkerHeartbeat worker_id 1 running_work 2 detection_slots_used 3 detection_slots_total 4 execution_slots_used 5 execution_slots_total 6 -queued_jobs_by_type 7 -metadata 8
RunningWork work_id 1 kind 2 job_type 3 -state 4 -progress_percent 5 -stage 6
WorkerAcknowledge request_id 1 accepted 2 message 3
RequestConfigSchema job_type 1 -force_refresh 2
ConfigSchemaResponse request_id 1 job_type 2 success 3 -error_message 4 job_type_descriptor 5
JobTypeDescriptor job_type 1 display_name 2 description 3 -icon 4 descriptor_version 5 admin_config_form 6 worker_config_form 7 admin_runtime_defaults 8 worker_default_values 9
ConfigForm form_id 1 title 2 description 3 sections 4 default_values 5
ConfigSection section_id 1 title 2 -description 3 fields 4
ConfigField name 1 label 2 description 3 help_text 4 -placeholder 5 field_type 6 widget 7 required 8 read_only 9 sensitive 10 min_value 11 max_value 12 options 13 validation_rules 14 visible_when_field 15 visible_when_equals 16
ConfigOption value 1 label 2 -description 3 disabled 4
ValidationRule type 1 expression 2 -error_message 3
ConfigValue bool_value 1 int64_value 2 double_value 3 string_value 4 bytes_value 5 duration_value 6 string_list 7 int64_list 8 double_list 9 bool_list 10 list_value 11 map_value 12
AdminRuntimeDefaults enabled 1 detection_interval_minutes 2 detection_timeout_seconds 3 max_jobs_per_detection 4 global_execution_concurrency 5 per_worker_execution_concurrency 6 retry_limit 7 retry_backoff_seconds 8 job_type_max_runtime_seconds 9 execution_timeout_seconds 10
RunDetectionRequest request_id 1 job_type 2 detection_sequence 3 admin_runtime 4 admin_config_values 5 worker_config_values 6 cluster_context 7 last_successful_run 8 max_results 9
DetectionProposals request_id 1 job_type 2 proposals 3 has_more 4
DetectionComplete request_id 1 job_type 2 success 3 error_message 4 total_proposals 5
JobProposal proposal_id 1 dedupe_key 2 job_type 3 priority 4 summary 5 detail 6 parameters 7 labels 8 not_before 9 expires_at 10
ExecuteJobRequest request_id 1 job 2 admin_runtime 3 admin_config_values 4 worker_config_values 5 cluster_context 6 attempt 7
JobSpec job_id 1 job_type 2 dedupe_key 3 priority 4 summary 5 detail 6 parameters 7 labels 8 created_at 9 scheduled_at 10
JobProgressUpdate request_id 1 job_id 2 job_type 3 state 4 progress_percent 5 stage 6 message 7 -metrics 8 activities 9 -updated_at 10
JobCompleted request_id 1 job_id 2 job_type 3 success 4 error_message 5 result 6 activities 7 -completed_at 8
ActivityEvent -source 1 message 2 stage 3 -details 4 created_at 5
JobResult output_values 1 summary 2
ClusterContext master_grpc_addresses 1 filer_addresses 2 -volume_grpc_addresses 3 metadata 4 s3_grpc_addresses 5
CancelRequest target_id 1 target_kind 2 reason 3 -force 4
AdminShutdown reason 1 grace_period_seconds 2
`

// enums are their values by number.
var enums = map[protoreflect.Name][]string{
	"WorkKind":           {"UNSPECIFIED", "DETECTION", "EXECUTION"},
	"JobPriority":        {"UNSPECIFIED", "LOW", "NORMAL", "HIGH", "CRITICAL"},
	"JobState":           {"UNSPECIFIED", "PENDING", "ASSIGNED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED"},
	"ConfigFieldType":    {"UNSPECIFIED", "BOOL", "INT64", "DOUBLE", "STRING", "BYTES", "DURATION", "ENUM", "LIST", "OBJECT"},
	"ValidationRuleType": {"UNSPECIFIED", "REGEX", "MIN_LENGTH", "MAX_LENGTH", "MIN_ITEMS", "MAX_ITEMS", "CUSTOM"},
}

// kinds are the types of the fields, found by their names; all other fields are strings.
var kinds = []struct {
	names *regexp.Regexp
	kind  protoreflect.Kind
}{
	{regexp.MustCompile(`^(accepted|can_|success$|required|read_only|sensitive|disabled|enabled|has_more|force|bool_value)`), protoreflect.BoolKind},
	{regexp.MustCompile(`^(detection_sequence|int64_value)$`), protoreflect.Int64Kind},
	{regexp.MustCompile(`^descriptor_version$`), protoreflect.Uint32Kind},
	{regexp.MustCompile(`^(widget|weight|attempt|retry_limit|total_proposals|max_(detection|execution|results|jobs).*|(global|per_worker)_exec.*|.*_(seconds|minutes|used|total))$`), protoreflect.Int32Kind},
	{regexp.MustCompile(`^(progress_percent|double_value)$`), protoreflect.DoubleKind},
	{regexp.MustCompile(`^bytes_value$`), protoreflect.BytesKind},
	{regexp.MustCompile(`^(type|kind|state|priority|field_type|target_kind)$`), protoreflect.EnumKind},
}

func TestTheWireIsSeaweedFSs(t *testing.T) {
	t.Parallel()
	file := pb.File_pluginpb_plugin_proto
	assert.EqualValues(t, "plugin", file.Package())
	method := file.Services().ByName("PluginControlService").Methods().ByName("WorkerStream")
	require.True(t, method.IsStreamingClient() && method.IsStreamingServer())
	assert.EqualValues(t, "WorkerToAdminMessage", method.Input().Name())
	assert.EqualValues(t, "AdminToWorkerMessage", method.Output().Name())
	for line := range strings.Lines(strings.TrimSpace(wire)) {
		words := strings.Fields(line)
		message := file.Messages().ByName(protoreflect.Name(words[0]))
		require.NotNil(t, message, words[0])
		read := 0
		for i := 1; i < len(words); i += 2 {
			number, err := strconv.Atoi(words[i+1])
			require.NoError(t, err)
			field := message.Fields().ByNumber(protoreflect.FieldNumber(number))
			if strings.HasPrefix(words[i], "-") {
				assert.Nil(t, field, "%s.%s", words[0], words[i])
				continue
			}
			read++
			require.NotNil(t, field, "%s.%s", words[0], words[i])
			assert.EqualValues(t, words[i], field.Name(), words[0])
			checkKind(t, field)
		}
		assert.Equal(t, read, message.Fields().Len(), "%s has a field that is not on the wire", words[0])
	}
	for name, values := range enums {
		enum := file.Enums().ByName(name)
		require.Equal(t, len(values), enum.Values().Len(), name)
		for number, value := range values {
			assert.True(t, strings.HasSuffix(string(enum.Values().ByNumber(protoreflect.EnumNumber(number)).Name()), "_"+value), "%s %d", name, number) //nolint:gosec // small
		}
	}
}

func checkKind(t *testing.T, field protoreflect.FieldDescriptor) {
	t.Helper()
	if field.Message() != nil {
		return // A message, or a map of names to values.
	}
	want := protoreflect.StringKind
	for _, known := range kinds {
		if known.names.MatchString(string(field.Name())) {
			want = known.kind
			break
		}
	}
	assert.Equal(t, want, field.Kind(), field.FullName())
}
