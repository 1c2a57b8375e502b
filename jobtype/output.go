package jobtype

import (
	"io"
	"time"
)

// Output of an attempt that a worker with a data directory keeps in files.
const (
	DefaultOutputKeep = Duration(30 * 24 * time.Hour)
	DefaultOutputMax  = 10 << 20
	// Bounds of a job type's settings. MinOutputFile is one segment of the beginning and one of the end.
	MaxOutputKeep = Duration(365 * 24 * time.Hour)
	MinOutputFile = 64 << 10
	MaxOutputFile = 256 << 20
)

// OutputPolicy bounds the output that a worker keeps of one attempt. A zero field means the default.
type OutputPolicy struct {
	// Keep is the time after the end of the attempt.
	Keep Duration
	// Max is the number of bytes. Of a longer output the beginning and the end are kept.
	Max int64
}

// WithDefaults replaces zero and negative fields by the defaults, and bounds the others.
func (p OutputPolicy) WithDefaults() OutputPolicy {
	if p.Keep <= 0 {
		p.Keep = DefaultOutputKeep
	}
	if p.Max <= 0 {
		p.Max = DefaultOutputMax
	}
	p.Keep, p.Max = min(p.Keep, MaxOutputKeep), min(max(p.Max, MinOutputFile), MaxOutputFile)
	return p
}

// OutputKeeper is implemented by the progress of [Handler.Execute]; see [KeepOutput].
type OutputKeeper interface{ KeepOutput(policy OutputPolicy) }

// KeepOutput sets the policy of the attempt's output. It must be called before the first write to [Log].
func KeepOutput(progress Progress, policy OutputPolicy) {
	if keeper, ok := progress.(OutputKeeper); ok {
		keeper.KeepOutput(policy)
	}
}

// ArtifactKeeper is implemented by the progress of [Handler.Execute]; see [KeepArtifact].
type ArtifactKeeper interface {
	KeepArtifact(name string, content io.Reader, fault error) error
}

// KeepArtifact keeps a file of the attempt next to its output, under the same policy. fault is listed in place of
// missing content.
func KeepArtifact(progress Progress, name string, content io.Reader, fault error) error {
	if keeper, ok := progress.(ArtifactKeeper); ok {
		return keeper.KeepArtifact(name, content, fault)
	}
	return nil
}
