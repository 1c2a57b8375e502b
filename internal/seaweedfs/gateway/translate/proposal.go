package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/internal/lib/tail"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
)

// estimateKey is the only parameter that the scheduler itself reads.
const estimateKey = "estimated_runtime_seconds"

// maxDetail bounds the shown part of a proposal's detail; the packed proposal has all of it.
const maxDetail = 512

// Proposal converts a worker's proposal for its group. Labels of the worker describe the work, so they stay in the
// parameters.
func (p *Packer) Proposal(found *pb.JobProposal) jobtype.Proposal {
	key := found.GetDedupeKey()
	params, err := p.Pack(found)
	if err != nil {
		return jobtype.Refused(key, err)
	}
	proposal := jobtype.Proposal{
		DedupeKey: key, Summary: OneLine(found.GetSummary(), jobtype.MaxSummaryBytes), Detail: jobtype.Clip(found.GetDetail(), maxDetail),
		Priority: priorityOf(found.GetPriority()), Params: params, Exclusive: objects(found),
		NotBefore: timeOf(found.GetNotBefore()), ExpiresAt: timeOf(found.GetExpiresAt()),
		EstimatedRuntime: estimate(found.GetParameters()[estimateKey]),
	}
	err = proposal.Validate()
	if err != nil && proposal.Detail != "" {
		// The shown texts yield to the worker's data.
		proposal.Detail = ""
		err = proposal.Validate()
	}
	if err != nil {
		return jobtype.Refused(key, err)
	}
	return proposal
}

func priorityOf(p pb.JobPriority) jobtype.Priority {
	switch p {
	case pb.JobPriority_JOB_PRIORITY_LOW:
		return jobtype.PriorityLow
	case pb.JobPriority_JOB_PRIORITY_HIGH:
		return jobtype.PriorityHigh
	case pb.JobPriority_JOB_PRIORITY_CRITICAL:
		return jobtype.PriorityCritical
	case pb.JobPriority_JOB_PRIORITY_NORMAL, pb.JobPriority_JOB_PRIORITY_UNSPECIFIED:
	}
	return jobtype.PriorityNormal
}

func estimate(value *pb.ConfigValue) jobtype.Duration {
	whole, ok := plain(value).(int64)
	if !ok || whole <= 0 {
		return 0
	}
	limit := int64(jobtype.MaxEstimatedRuntime.Std() / time.Second)
	return jobtype.Duration(time.Duration(min(whole, limit)) * time.Second)
}

// timeOf returns zero for a missing or invalid time.
func timeOf(at *timestamppb.Timestamp) time.Time {
	if at == nil || !at.IsValid() || at.GetSeconds() <= 0 {
		return time.Time{}
	}
	return at.AsTime()
}

// volumeKey matches `vacuum:7:photos` and `volume_balance_batch:volume_balance:7+volume_balance:8`.
var volumeKey = regexp.MustCompile(`(?:^|[:+])(?:vacuum|volume_balance|erasure_coding|ec_balance):(\d{1,10})(?:[:+]|$)`)

// Parallel work on one volume of erasure-coded shards corrupts them. The key of a large batch is a hash, so its volumes
// are read from its moves.
func objects(found *pb.JobProposal) []string {
	var all []string
	key := found.GetDedupeKey()
	for part := range strings.SplitSeq(key, "+") {
		if volume := volumeKey.FindStringSubmatch(part); volume != nil {
			all = append(all, Volume(volume[1]))
		}
	}
	if id, ok := plain(found.GetParameters()["volume_id"]).(int64); ok && id > 0 {
		all = append(all, Volume(fmt.Sprint(id)))
	}
	for _, move := range Moves(found) {
		all = append(all, Volume(fmt.Sprint(move.GetVolumeId())))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Volume returns the object of a volume, also for native handlers.
func Volume(id string) string { return "volume/" + id }

// Job returns the specification for a worker.
func (p *Packer) Job(job jobtype.Job, jobType string, now time.Time) (*pb.JobSpec, error) {
	found, err := p.Unpack(job.Params)
	if err != nil {
		return nil, err
	}
	return &pb.JobSpec{
		JobId: JobID(jobType, job), JobType: jobType, DedupeKey: found.GetDedupeKey(), Priority: found.GetPriority(),
		Summary: found.GetSummary(), Detail: found.GetDetail(), Parameters: found.GetParameters(), Labels: found.GetLabels(),
		CreatedAt: timestamppb.New(now), ScheduledAt: timestamppb.New(now),
	}, nil
}

// JobID is the same for every attempt. Workers name directories after it.
func JobID(jobType string, job jobtype.Job) string {
	name := jobType + "-" + strings.TrimPrefix(job.GroupID, "group/") + "-" + job.ID
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

const (
	// maxOutputs bounds the values of a result, as JSON.
	maxOutputs = jobtype.MaxResultBytes / 2
	// outputKey is the key of a script's output.
	outputKey = "output"
)

// Result omits values beyond the bound, the largest first, and names their number.
func Result(done *pb.JobResult) jobtype.Result {
	values := done.GetOutputValues()
	result := jobtype.Result{Summary: OneLine(done.GetSummary(), 1<<10)}
	if text, ok := values[outputKey].GetKind().(*pb.ConfigValue_StringValue); ok {
		kept := tail.New(jobtype.MaxOutputBytes)
		_, _ = kept.Write([]byte(text.StringValue))
		result.Output = kept.Text()
	}
	type entry struct {
		name string
		size int
	}
	var entries []entry
	total := 0
	for name, value := range values {
		if _, isText := value.GetKind().(*pb.ConfigValue_StringValue); isText && name == outputKey {
			continue
		}
		one := entry{name, proto.Size(value)}
		if one.size <= maxOutputs {
			one.size = sizeAsJSON(object{name: plain(value)})
		}
		entries = append(entries, one)
		total += one.size
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name)) })
	room, left := min(maxOutputs, jobtype.MaxResultBytes-1<<10-sizeAsJSON(result)), 0
	for total > room && left < len(entries) {
		total -= entries[left].size
		left++
	}
	if len(entries) > 0 {
		result.Data = map[string]any{}
	}
	for _, kept := range entries[left:] {
		result.Data[jobtype.Clip(kept.name, 200)] = plain(values[kept.name])
	}
	if left > 0 {
		result.Data["values_left_out"] = left
	}
	return result
}

func sizeAsJSON(value any) int {
	encoded, err := json.Marshal(value)
	if err != nil {
		return jobtype.MaxResultBytes // The value is left out.
	}
	return len(encoded)
}

// OneLine returns text in one line of valid UTF-8, at most limit bytes.
func OneLine(text string, limit int) string {
	return jobtype.OneLine(strings.Join(strings.Fields(text), " "), limit)
}
