package translate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

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
		DedupeKey: key, Summary: OneLine(found.GetSummary(), jobtype.MaxSummaryBytes), Detail: Text(found.GetDetail(), maxDetail),
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

// Parallel work on one volume of erasure-coded shards corrupts them.
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

// Result omits values beyond the bound, the largest first, and names them.
func Result(done *pb.JobResult) jobtype.Result {
	result := jobtype.Result{Summary: OneLine(done.GetSummary(), 1<<10)}
	type entry struct {
		name string
		size int
	}
	var entries []entry
	total := 0
	for name, value := range done.GetOutputValues() {
		one := entry{name, len(value.String()) + len(name)}
		if text, ok := value.GetKind().(*pb.ConfigValue_StringValue); ok && name == outputKey {
			result.Output = Tail(text.StringValue, jobtype.MaxOutputBytes)
			continue
		}
		entries = append(entries, one)
		total += one.size
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name)) })
	left := 0
	for total > maxOutputs && left < len(entries) {
		total -= entries[left].size
		left++
	}
	for _, kept := range entries[left:] {
		if result.Data == nil {
			result.Data = map[string]any{}
		}
		result.Data[Text(kept.name, 200)] = readable(plain(done.GetOutputValues()[kept.name]))
	}
	if left > 0 {
		if result.Data == nil {
			result.Data = map[string]any{}
		}
		result.Data["values_left_out"] = left
	}
	return result
}

func readable(value any) any {
	if text, ok := value.(string); ok {
		return Text(text, maxOutputs)
	}
	return value
}

// OneLine returns text in one line of valid UTF-8, at most limit bytes.
func OneLine(text string, limit int) string {
	return Text(strings.Join(strings.Fields(Text(text, 4*limit)), " "), limit)
}

// Text returns the head of text, at most limit bytes of valid UTF-8.
func Text(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(trimRune(text), "")
}

// Tail returns the end of text, at most limit bytes of valid UTF-8.
func Tail(text string, limit int) string {
	if len(text) > limit {
		text = text[len(text)-limit:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return strings.ToValidUTF8(text, "")
}

func trimRune(text string) string {
	for cut := 0; cut < utf8.UTFMax && len(text) > 0; cut++ {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			return text
		}
		text = text[:len(text)-1]
	}
	return text
}
