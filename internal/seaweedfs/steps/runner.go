package steps

// Job is one piece of work on a volume. Its exported fields are its checkpoint.
type Job interface {
	// Looks are the looks that Decide needs.
	Looks() []Look
	// Decide returns the next call, or the end.
	Decide(seen View) Step
	// Took records the answer to the call that Decide returned.
	Took(call Call, answer Answer)
}

// Step is a call or an end.
type Step struct {
	Call *Call
	End  *End
	// Again: the job needs other looks, which [Job.Looks] returns now.
	Again bool
	// Wait: the job looks again after a while.
	Wait bool
	// Calm: no change on the cluster is half done before this call, so the lease may be handed over first.
	Calm bool
}

// Code is the kind of a job's end.
type Code string

// Ends that are successes.
const (
	Moved       Code = "moved"
	Completed   Code = "move-completed" // another job, which is gone, began it
	Restored    Code = "restored"       // its source is writable again; nothing was copied
	KeptSource  Code = "kept-source"    // without it the volume would have too few copies
	Stale       Code = "stale"          // no work is left
	Vacuumed    Code = "vacuumed"
	NoGarbage   Code = "no-garbage"
	Encoded     Code = "encoded"
	ShardMoved  Code = "shard-moved"
	ShardPurged Code = "shard-purged" // a duplicate is gone
)

// Ends that are failures.
const (
	CannotRead      Code = "cannot-read"
	CallFailed      Code = "call-failed"
	VolumeGone      Code = "volume-gone"
	TargetSmaller   Code = "target-smaller"
	TargetReadOnly  Code = "target-read-only"
	ReplicasDiffer  Code = "replicas-differ"
	FilesGone       Code = "files-gone"
	CopyUnfinished  Code = "copy-unfinished" // its .note file is there, which survives a restart
	ShardsDiffer    Code = "shards-differ"
	ShardsMissing   Code = "shards-missing"
	ReplicaWritable Code = "replica-writable"
	TooManySteps    Code = "too-many-steps"
	// Stopped: the job was canceled, or its worker drains.
	Stopped Code = "stopped"
)

// Stopper is a job that undoes its changes when it is stopped between two calls. Other jobs just end.
type Stopper interface{ Stop(cause string) }

// Leftover is something that a job leaves behind.
type Leftover struct {
	Kind   LeftoverKind `json:"kind"`
	Server string       `json:"server"`
}

// LeftoverKind is the kind of a leftover.
type LeftoverKind string

// The leftovers of a job.
const (
	LeftReadOnly LeftoverKind = "read-only"
	LeftCopy     LeftoverKind = "surplus-copy"
	LeftShards   LeftoverKind = "shards"
	// LeftFiles are the files of an encoded volume's replica that its server does not load.
	LeftFiles LeftoverKind = "files"
	// LeftHidden are such files of a volume that is not encoded.
	LeftHidden LeftoverKind = "hidden"
)

// End is how a job ended.
type End struct {
	Code          Code
	OK            bool
	Server, Cause string
	// Final: another attempt would end the same.
	Final bool
	Left  []Leftover
}

func call(c Call) Step      { return Step{Call: &c} }
func calmly(s Step) Step    { s.Calm = true; return s }
func done(code Code) *End   { return &End{Code: code, OK: true} }
func ended(e *End) Step     { return Step{End: e} }
func failed(code Code) *End { return &End{Code: code} }
func (e *End) final() *End  { e.Final = true; return e }
func (e *End) at(server, cause string) *End {
	e.Server, e.Cause = server, cause
	return e
}

func (e *End) leaves(kind LeftoverKind, servers ...string) *End {
	for _, server := range servers {
		e.Left = append(e.Left, Leftover{kind, server})
	}
	return e
}

// The longest job has some 100 calls: an encoding onto 14 servers that is torn down and repeated. See [NewRunner].
const maxCalls = 400

// Runner takes a job through its looks and calls.
type Runner struct {
	job   Job
	looks []Look
	seen  View
	calls int
	most  int
}

// NewRunner returns a runner that begins with a look.
func NewRunner(job Job) *Runner {
	r := &Runner{job: job}
	r.Again()
	r.most = maxCalls + maxTries*len(r.looks)
	return r
}

// Again makes the runner look at everything again before it decides.
func (r *Runner) Again() {
	r.looks = r.job.Looks()
	r.seen = View{Replicas: map[string]Replica{}, Shards: map[string]Shards{}, Indexes: map[string]Index{}}
}

// Next returns a look or a step. Answer with [Runner.Again], [Runner.SawReplica], [Runner.SawShards] or [Runner.Took].
func (r *Runner) Next() (look *Look, step Step) {
	if len(r.looks) > 0 {
		return &r.looks[0], Step{}
	}
	if r.calls >= r.most {
		return nil, ended(failed(TooManySteps))
	}
	step = r.job.Decide(r.seen)
	if step.Again {
		r.calls++
		r.Again()
		return r.Next()
	}
	return nil, step
}

// SawReplica answers a look.
func (r *Runner) SawReplica(replica Replica) {
	r.seen.Replicas[r.looks[0].Server] = replica
	r.looks = r.looks[1:]
}

// SawIndex answers a look at an index.
func (r *Runner) SawIndex(index Index) {
	r.seen.Indexes[r.looks[0].Server] = index
	r.looks = r.looks[1:]
}

// SawShards answers a look at shards.
func (r *Runner) SawShards(shards Shards) {
	r.seen.Shards[r.looks[0].Server] = shards
	r.looks = r.looks[1:]
}

// Took answers a call; the runner then looks again.
func (r *Runner) Took(c Call, answer Answer) {
	r.calls++
	r.job.Took(c, answer)
	r.Again()
}
