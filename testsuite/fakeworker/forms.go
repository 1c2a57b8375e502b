package fakeworker

import (
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// JobTypes returns the seven job types of `weed worker -jobType=all`.
func JobTypes() []string {
	return []string{"vacuum", "volume_balance", "erasure_coding", "ec_balance", "admin_script", "iceberg_maintenance", "s3_lifecycle"}
}

// runtimes has the columns enabled, interval, detect, jobs, global, per worker, retry, backoff, window, execution.
func runtimes(jobType string) *pb.AdminRuntimeDefaults {
	row := map[string][10]int32{
		"vacuum":              {1, 17, 120, 200, 16, 4, 1, 10, 1800, 1800},
		"volume_balance":      {1, 30, 120, 100, 16, 4, 1, 15, 1800, 1800},
		"erasure_coding":      {1, 17, 300, 500, 16, 4, 1, 30, 1800, 1800},
		"ec_balance":          {1, 30, 300, 500, 16, 4, 1, 30, 1800, 1800},
		"admin_script":        {1, 17, 300, 1, 1, 1, 0, 30, 1800, 1800},
		"iceberg_maintenance": {0, 60, 300, 100, 4, 2, 1, 60, 3600, 3600},
		"s3_lifecycle":        {1, 1440, 60, 1, 1, 1, 0, 0, 1<<31 - 1, 1<<31 - 1},
	}[jobType]
	return &pb.AdminRuntimeDefaults{
		Enabled: row[0] == 1, DetectionIntervalMinutes: row[1], DetectionTimeoutSeconds: row[2], MaxJobsPerDetection: row[3],
		GlobalExecutionConcurrency: row[4], PerWorkerExecutionConcurrency: row[5], RetryLimit: row[6], RetryBackoffSeconds: row[7],
		JobTypeMaxRuntimeSeconds: row[8], ExecutionTimeoutSeconds: row[9],
	}
}

// Descriptor returns the form of a job type, with the fields of the real one.
func Descriptor(jobType string) *pb.JobTypeDescriptor {
	d := &pb.JobTypeDescriptor{
		JobType: jobType, DisplayName: jobType, Description: "Does " + jobType, DescriptorVersion: 1, AdminRuntimeDefaults: runtimes(jobType),
		AdminConfigForm: form("Scope", adminFields(jobType)), WorkerConfigForm: form("Limits", workerFields(jobType)),
	}
	if jobType == "s3_lifecycle" {
		d.WorkerConfigForm = nil
	}
	switch jobType { // These are in no form.
	case "vacuum":
		d.WorkerDefaultValues = map[string]*pb.ConfigValue{"min_volume_age_seconds": translate.Int64(0)}
	case "admin_script":
		d.AdminConfigForm.DefaultValues["script_name"] = translate.String("")
	}
	return d
}

// field is one row of a form.
type field struct {
	name     string
	kind     pb.ConfigFieldType
	value    any
	min, max any
	options  []string
}

func form(section string, fields []field) *pb.ConfigForm {
	out := &pb.ConfigForm{FormId: section, Title: section, DefaultValues: map[string]*pb.ConfigValue{}}
	all := &pb.ConfigSection{SectionId: section, Title: section}
	for _, f := range fields {
		label := strings.ReplaceAll(f.name, "_", " ")
		one := &pb.ConfigField{Name: f.name, Label: label, HelpText: "Sets the " + label + ".", FieldType: f.kind, MinValue: Value(f.min), MaxValue: Value(f.max)}
		for _, option := range f.options {
			one.Options = append(one.Options, &pb.ConfigOption{Value: option, Label: option})
		}
		all.Fields = append(all.Fields, one)
		out.DefaultValues[f.name] = Value(f.value)
	}
	out.Sections = []*pb.ConfigSection{all}
	return out
}

// Value converts a Go value; nil stays nil.
func Value(v any) *pb.ConfigValue {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return translate.Bool(v)
	case int:
		return translate.Int64(int64(v))
	case float64:
		return translate.Double(v)
	case string:
		return translate.String(v)
	case []byte:
		return &pb.ConfigValue{Kind: &pb.ConfigValue_BytesValue{BytesValue: v}}
	}
	panic(fmt.Sprintf("no value of %T", v))
}

// script is the default of admin_script.
const script = "fs.log.purge -daysAgo=7\nvolume.deleteEmpty -quietFor=24h -apply\nvolume.fix.replication -apply\ns3.clean.uploads -timeAgo=24h"

const (
	text    = pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING
	whole   = pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64
	decimal = pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE
	choice  = pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM
	boolean = pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL
)

func adminFields(jobType string) []field {
	scope := []field{
		{name: "collection_filter", kind: text, value: ""},
		{name: "volume_state", kind: choice, value: "ALL", options: []string{"ALL", "ACTIVE", "FULL"}},
		{name: "data_center_filter", kind: text, value: ""},
		{name: "rack_filter", kind: text, value: ""},
		{name: "node_filter", kind: text, value: ""},
	}
	switch jobType {
	case "vacuum", "volume_balance":
		return scope
	case "erasure_coding":
		return scope[:1]
	case "ec_balance":
		return []field{scope[0], scope[2], {name: "disk_type", kind: text, value: ""}, {name: "shard_replica_placement", kind: text, value: ""}}
	case "admin_script":
		return []field{{name: "script", kind: text, value: script}, {name: "run_interval_minutes", kind: whole, value: 17, min: 1}}
	case "iceberg_maintenance":
		return []field{
			{name: "bucket_filter", kind: text, value: ""},
			{name: "namespace_filter", kind: text, value: ""},
			{name: "table_filter", kind: text, value: ""},
			{name: "resource_group_by", kind: choice, value: "none", options: []string{"none", "bucket", "namespace"}},
			{name: "max_tables_per_resource_group", kind: whole, value: 0, min: 0},
		}
	case "s3_lifecycle":
		return []field{
			{name: "cluster_deletes_per_second", kind: decimal, value: 0.0, min: 0.0},
			{name: "cluster_deletes_burst", kind: whole, value: 0, min: 0},
			{name: "meta_log_retention_days", kind: whole, value: 0, min: 0},
			{name: "walker_interval_minutes", kind: whole, value: 0, min: 0},
		}
	}
	return nil
}

func workerFields(jobType string) []field {
	switch jobType {
	case "vacuum":
		return []field{{name: "garbage_threshold", kind: decimal, value: 0.3, min: 0.0, max: 1.0}}
	case "volume_balance":
		return []field{
			{name: "imbalance_threshold", kind: decimal, value: 0.2, min: 0.0, max: 1.0},
			{name: "min_server_count", kind: whole, value: 2, min: 2},
			{name: "io_byte_per_second", kind: whole, value: 0, min: 0},
			{name: "max_concurrent_moves", kind: whole, value: 5, min: 1, max: 50},
			{name: "batch_size", kind: whole, value: 20, min: 1, max: 100},
		}
	case "erasure_coding":
		return []field{
			{name: "quiet_for_seconds", kind: whole, value: 3600, min: 0},
			{name: "fullness_ratio", kind: decimal, value: 0.95, min: 0.0, max: 1.0},
			{name: "min_size_mb", kind: whole, value: 30, min: 1},
			{name: "preferred_tags", kind: text, value: ""},
			{name: "replica_placement", kind: text, value: ""},
		}
	case "ec_balance":
		return []field{
			{name: "imbalance_threshold", kind: decimal, value: 0.2, min: 0.0, max: 1.0},
			{name: "min_server_count", kind: whole, value: 3, min: 1},
			{name: "io_byte_per_second", kind: whole, value: 0, min: 0},
			{name: "preferred_tags", kind: text, value: ""},
		}
	case "iceberg_maintenance":
		return []field{
			{name: "snapshot_retention_hours", kind: whole, value: 168, min: 1},
			{name: "max_snapshots_to_keep", kind: whole, value: 5, min: 1},
			{name: "target_file_size_mb", kind: whole, value: 256, min: 1},
			{name: "min_input_files", kind: whole, value: 5, min: 2},
			{name: "apply_deletes", kind: boolean, value: true},
			{name: "rewrite_strategy", kind: choice, value: "binpack", options: []string{"binpack", "sort", "auto"}},
			{name: "max_commit_retries", kind: whole, value: 5, min: 1, max: 20},
			{name: "where", kind: text, value: ""},
		}
	}
	return nil
}

// Vacuum returns a proposal to vacuum a volume, with opaque parameters.
func Vacuum(volume int) *pb.JobProposal {
	key := fmt.Sprintf("vacuum:%d", volume)
	return &pb.JobProposal{
		ProposalId: key, DedupeKey: key, JobType: "vacuum", Priority: pb.JobPriority_JOB_PRIORITY_NORMAL, Summary: fmt.Sprintf("vacuum volume %d", volume),
		Parameters: map[string]*pb.ConfigValue{
			"volume_id": Value(volume), "server": Value("localhost:8080"), "collection": Value(""), "estimated_runtime_seconds": Value(300),
			"task_params_pb": Value([]byte{0x0a, 0x02, 0xff, 0xfe, byte(volume), 0x00}),
		},
		Labels: map[string]string{"rack": "none-of-ours"},
	}
}
