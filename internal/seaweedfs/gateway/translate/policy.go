package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
)

// Whether and how often the job type is due in its original system.
const extension = "x-weed"

// Handlers of weed workers share no job type with the native ones.
const handlerPrefix = "weed-"

// HandlerName returns the handler for a job type of weed workers.
func HandlerName(jobType string) (string, error) {
	name := handlerPrefix + jobType
	return name, jobtype.ValidateName(name)
}

// Hints are the inputs of `jobtypes import` besides a descriptor.
type Hints struct {
	JobType string           `json:"job_type"`
	Version uint32           `json:"version,omitempty"`
	Enabled bool             `json:"enabled"`
	Every   jobtype.Duration `json:"every"`
}

func defaultEvery(jobType string) time.Duration {
	switch jobType {
	case "vacuum":
		return 2 * time.Hour
	case "iceberg_maintenance":
		return time.Hour
	case "volume_balance", "ec_balance":
		return 30 * time.Minute
	}
	return 5 * time.Minute
}

func hintsOf(d *pb.JobTypeDescriptor) Hints {
	defaults := d.GetAdminRuntimeDefaults()
	every := cmp.Or(time.Duration(min(max(defaults.GetDetectionIntervalMinutes(), 0), 365*24*60))*time.Minute, defaultEvery(d.GetJobType()))
	return Hints{
		JobType: d.GetJobType(), Version: d.GetDescriptorVersion(), Enabled: defaults.GetEnabled(), Every: jobtype.Duration(every),
	}
}

// HintsOf returns the hints of a handler of weed workers; false for other handlers.
func HintsOf(d jobtype.Descriptor) (Hints, bool) {
	var schema struct {
		Hints *Hints `json:"x-weed"`
	}
	if json.Unmarshal(d.Params, &schema) != nil || schema.Hints == nil {
		return Hints{}, false
	}
	return *schema.Hints, true
}

// minExecution is the shortest timeout that the original allows a job, in seconds.
const minExecution = 90

// PolicyOf returns the default policy of a job type, within Roundsman's limits. The gateway beats in place of the worker.
func PolicyOf(defaults *pb.AdminRuntimeDefaults) jobtype.Policy {
	policy := jobtype.Policy{
		Liveness:                      jobtype.LivenessProcess,
		DetectionTimeout:              seconds(defaults.GetDetectionTimeoutSeconds(), 45),
		ExecutionTimeout:              max(seconds(defaults.GetExecutionTimeoutSeconds(), minExecution), seconds(minExecution, 0)),
		MaxRuntime:                    seconds(defaults.GetJobTypeMaxRuntimeSeconds(), 1800),
		MaxJobsPerDetection:           count(defaults.GetMaxJobsPerDetection(), 1000, jobtype.MaxKeyedJobs),
		GlobalExecutionConcurrency:    count(defaults.GetGlobalExecutionConcurrency(), 1, jobtype.MaxGlobalConcurrency),
		PerWorkerExecutionConcurrency: count(defaults.GetPerWorkerExecutionConcurrency(), 1, jobtype.MaxGlobalConcurrency),
		RetryLimit:                    min(max(int(defaults.GetRetryLimit()), 0), jobtype.MaxRetryLimit),
		RetryBackoff:                  seconds(defaults.GetRetryBackoffSeconds(), 5),
	}
	policy.PerWorkerExecutionConcurrency = min(policy.PerWorkerExecutionConcurrency, policy.GlobalExecutionConcurrency)
	return policy
}

// seconds returns a timeout, bounded to a year; s3_lifecycle sends 68 years.
func seconds(value, fallback int32) jobtype.Duration {
	if value <= 0 {
		value = fallback
	}
	return min(jobtype.Duration(time.Duration(value)*time.Second), jobtype.Duration(365*24*time.Hour))
}

func count(value int32, fallback, limit int) int {
	if value <= 0 {
		return fallback
	}
	return min(int(value), limit)
}

// Descriptor describes the handler for a job type. d is nil if the worker sent none.
func Descriptor(c *pb.JobTypeCapability, d *pb.JobTypeDescriptor) (jobtype.Descriptor, error) {
	name, err := HandlerName(c.GetJobType())
	if err != nil {
		return jobtype.Descriptor{}, err
	}
	schema, err := Schema(d)
	if err != nil {
		return jobtype.Descriptor{}, fmt.Errorf("the form of %s: %w", name, err)
	}
	descriptor := jobtype.Descriptor{
		Name:                  name,
		Help:                  firstText(d.GetDescription(), c.GetDescription(), d.GetDisplayName(), c.GetDisplayName()),
		Params:                schema,
		DefaultPolicy:         PolicyOf(d.GetAdminRuntimeDefaults()),
		DefaultInterval:       intervalOf(c, d),
		MaxDetectConcurrency:  max(int(c.GetMaxDetectionConcurrency()), 0),
		MaxExecuteConcurrency: max(int(c.GetMaxExecutionConcurrency()), 0),
		ExecuteOnly:           !c.GetCanDetect(),
		DetectOnly:            !c.GetCanExecute(),
	}
	return descriptor, descriptor.Validate()
}

func intervalOf(c *pb.JobTypeCapability, d *pb.JobTypeDescriptor) jobtype.Duration {
	if d == nil {
		return jobtype.Duration(defaultEvery(c.GetJobType()))
	}
	return hintsOf(d).Every
}

// DetectRuntime returns the runtime configuration of a detection.
func DetectRuntime(d *pb.JobTypeDescriptor, maxResults int, left time.Duration) *pb.AdminRuntimeDefaults {
	told := runtime(d)
	told.MaxJobsPerDetection = clip32(maxResults, told.GetMaxJobsPerDetection())
	told.DetectionTimeoutSeconds = clip32(int(left/time.Second), told.GetDetectionTimeoutSeconds())
	return told
}

// ExecuteRuntime returns the runtime configuration of a job, with the time left.
func ExecuteRuntime(d *pb.JobTypeDescriptor, left time.Duration) *pb.AdminRuntimeDefaults {
	told := runtime(d)
	told.ExecutionTimeoutSeconds = clip32(int(left/time.Second), told.GetExecutionTimeoutSeconds())
	return told
}

func runtime(d *pb.JobTypeDescriptor) *pb.AdminRuntimeDefaults {
	defaults := d.GetAdminRuntimeDefaults()
	return &pb.AdminRuntimeDefaults{
		Enabled: true, DetectionIntervalMinutes: defaults.GetDetectionIntervalMinutes(),
		DetectionTimeoutSeconds: defaults.GetDetectionTimeoutSeconds(), MaxJobsPerDetection: defaults.GetMaxJobsPerDetection(),
		GlobalExecutionConcurrency: defaults.GetGlobalExecutionConcurrency(), PerWorkerExecutionConcurrency: defaults.GetPerWorkerExecutionConcurrency(),
		RetryLimit: defaults.GetRetryLimit(), RetryBackoffSeconds: defaults.GetRetryBackoffSeconds(),
		JobTypeMaxRuntimeSeconds: defaults.GetJobTypeMaxRuntimeSeconds(), ExecutionTimeoutSeconds: defaults.GetExecutionTimeoutSeconds(),
	}
}

// Count converts a number for messages.
func Count(value int) int32 { return clip32(value, 0) }

func clip32(value int, fallback int32) int32 {
	if value <= 0 || value > 1<<30 {
		return fallback
	}
	return int32(value)
}
