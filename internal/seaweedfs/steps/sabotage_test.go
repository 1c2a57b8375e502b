package steps_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sabotage = flag.String("sabotage", "", "build each sabotage whose name contains this, `all` for every one, and run the tests against it")

// sabotages are ways to break the steps. Each replaces the first text by the second, in one file below
// internal/seaweedfs or activities/seaweedfs. A test of this package or of activities/seaweedfs must notice it.
var sabotages = []struct{ name, file, old, new string }{
	{"move: delete without a comparison of sizes", "steps/move.go", "case !target.covers(source):", "case false:"},
	{"move: compare across compactions", "steps/move.go", "source.Revision != target.Revision:", "false:"},
	{"move: copy from a writable source", "steps/move.go", "	if !source.ReadOnly {\n		if !m.may(MarkReadOnly, m.Source) {", "	if false {\n		if !m.may(MarkReadOnly, m.Source) {"},
	{"move: delete a source that became writable", "steps/move.go", "if !source.ReadOnly && surplus {", "if false {"},
	{"move: skip the tail", "steps/move.go", "	if !m.tailed {", "	if false {"},
	{"move: delete a source that is no surplus", "steps/move.go", "	case !surplus:\n", "	case false:\n"},
	{"move: take an unknown target for absent", "steps/move.go", "	case target.Presence == Unknown:\n", "	case false:\n"},
	{"move: take an unknown source for absent", "steps/move.go", "		return m.ghost(source, target)\n	case source.Presence == Unknown:\n", "		return m.ghost(source, target)\n	case false:\n"},
	{"move: keep the source read-only after a failure", "steps/move.go", "	if undo {\n", "	if false {\n"},
	{"move: two writable copies after a failure", "steps/move.go", "if surplus && target.Presence == Present {", "if false {"},
	{"move: do not say that the source is read-only", "steps/move.go", "		end.leaves(LeftReadOnly, m.Source)\n", ""},
	{"move: do not say that a copy is left", "steps/move.go", "		end.leaves(LeftCopy, m.Target)\n", ""},
	{"move: forget who made the source read-only", "steps/resume.go", "now.moveProgress = then.moveProgress", "now.moveProgress, now.Marked = then.moveProgress, false"},
	{"vacuum: commit what was not compacted well", "steps/vacuum.go", "	case compact:\n		if v.failure != nil {\n			return sweepAfter", "	case compact:\n		if false {\n			return sweepAfter"},
	{"vacuum: compact stale read-only replicas", "steps/vacuum.go", "if op == Check && len(v.Writable) > 0 && !slices.Contains(v.Writable, server) {", "if false {"},
	{"vacuum: commit the others after a commit that failed", "steps/vacuum.go", "v.failure, v.at = failed(CallFailed).at(c.Server, answer.Err), len(v.Servers)", "if v.failure = failed(CallFailed).at(c.Server, answer.Err); c.Op != Commit {\n				v.at = len(v.Servers)\n			}"},
	{"vacuum: commit while a replica cannot be read", "steps/vacuum.go", "if v.failure == nil && v.phase <= commit {", "if false {"},
	{"vacuum: compact read-only replicas that differ", "steps/vacuum.go", "if len(v.Writable) == 0 && len(v.Servers) > 1 {", "if false {"},
	{"vacuum: believe in every commit", "steps/vacuum.go", "if v.phase == commit && v.at > 0 &&", "if false &&"},
	{"vacuum: make every replica writable", "steps/vacuum.go", "case !v.Seen && !replica.ReadOnly:", "case !v.Seen:"},
	{"vacuum: leave the files of a compaction", "steps/vacuum.go", "	case sweepBefore, sweepAfter:\n		op = Cleanup", "	case sweepBefore, sweepAfter:\n		return Step{}, false"},
	{"encode: generate from a writable replica", "steps/encode.go", "		if seen.Replicas[server].ReadOnly {\n			continue\n		}\n		if e.generated", "		if seen.Replicas[server].ReadOnly || true {\n			continue\n		}\n		if e.generated"},
	{"encode: do not compare the replicas", "steps/encode.go", "	if step, ok := e.agree(replicas, seen); !ok {", "	if step, ok := e.agree(replicas, seen); false && !ok {"},
	{"encode: compare sizes only", "steps/encode_agree.go", "		case index.Live != first.Live || index.Digest != first.Digest:\n", "		case false:\n"},
	{"encode: remember an agreement of other files", "steps/encode_agree.go", "return ok && sizes == seen.Replicas[server].sizes()", "return ok && sizes.Dat > 0"},
	{"encode: delete before the shards are mounted", "steps/encode_spread.go", "		if e.mounted(target, seen) {\n			continue", "		if true {\n			continue"},
	{"encode: delete before the last target is mounted", "steps/encode_seen.go", "	for _, target := range e.Targets {\n		if !e.mounted(target, seen) {", "	for _, target := range e.Targets[1:] {\n		if !e.mounted(target, seen) {"},
	{"encode: all shards on one server will do", "steps/encode.go", "		case e.placed(seen):\n			e.Best", "		case len(sizes) == TotalShards:\n			e.Best"},
	{"encode: do not compare with a hidden replica", "steps/encode_spread.go", "other.Live != index.Live || other.Digest != index.Digest", "false"},
	{"encode: leave all shards on one server", "steps/encode_spread.go", "	if e.placed(seen) {", "	if true {"},
	{"encode: remove shards whose objects were deleted since", "steps/encode_undo.go", "shards.Made == dat && shards.Deleted == 0", "shards.Made == dat"},
	{"encode: take a copy for mounted", "steps/encode.go", "	return call(c), e.tries", "	if c.Op == EcMount {\n		c.Op = EcCopy\n	}\n	return call(c), e.tries"},
	{"encode: delete with shards missing", "steps/encode.go", "	case !e.placed(seen):\n", "	case false:\n"},
	{"encode: delete a replica that is writable", "steps/encode.go", "	case !replica.ReadOnly:\n", "	case false:\n"},
	{"encode: delete a replica of another state", "steps/encode.go", "	case !e.held(server, made, seen):\n", "	case made == 0:\n"},
	{"encode: take shards of another state for its own", "steps/encode_agree.go", "return made > 0 && seen.Replicas[server].Dat == made })", "return made > 0 || seen.Replicas[server].Dat == made })"},
	{"encode: remove shards that no replica covers", "steps/encode_undo.go", "	if !e.covered(replicas, seen) {\n", "	if false {\n"},
	{"encode: unmount shards and leave their files", "steps/encode_undo.go", "	if server := e.unpurged(seen); server != \"\" {\n", "	if server := \"\"; server != \"\" {\n"},
	{"encode: keep replicas read-only after a failure", "steps/encode_undo.go", "		if step, ok := e.once(Call{Op: MarkWritable, Server: server}); ok {", "		if step, ok := e.once(Call{Op: MarkWritable, Server: server}); false && ok {"},
	{"encode: writable again next to shards", "steps/encode_undo.go", "len(sizes) > 0 || e.unpurged(seen) != \"\"", "false && len(sizes) > 0"},
	{"encode: leave the surplus shards", "steps/encode.go", "case e.purged[server] || len(surplus) == 0 || !unmounted:", "case e.purged[server] || unmounted || true:"},
	{"encode: do not say that a replica is read-only", "steps/encode_undo.go", "			if replica.ReadOnly {\n", "			if false {\n"},
	{"encode: do not say that shards are left", "steps/encode_undo.go", "			end.leaves(LeftShards, server)\n", ""},
	{"encode: act while a server cannot be read", "steps/encode_seen.go", "		if shards := seen.Shards[server]; shards.Presence == Unknown {", "		if shards := seen.Shards[server]; false {"},
	{"encode: forget who made the replicas read-only", "steps/resume.go", "now.encodeProgress = then.encodeProgress", "now.encodeProgress, now.Marked = then.encodeProgress, nil"},
	{"shard: unmount before the target has it", "steps/shard.go", "		return s.call(Call{Op: EcMount, Server: s.Target})", "		return s.call(Call{Op: EcUnmount, Server: s.Source})"},
	{"shard: delete at the source instead of a mount at the target", "steps/shard.go", "		return s.call(Call{Op: EcMount, Server: s.Target})", "		return s.call(Call{Op: EcDelete, Server: s.Source})"},
	{"shard: delete at the source before it is seen at the target", "steps/shard.go", "	case here:\n		return s.alone(source, target)", "	case here && s.copied:\n		return s.arrived()\n	case here:\n		return s.alone(source, target)"},
	{"shard: no comparison of both", "steps/shard.go", "target.Sizes[s.Shard] != source.Sizes[s.Shard] || !target.sameRun(source)", "false"},
	{"shard: leave the files at the source", "steps/shard.go", "	if s.purged[s.Source] {", "	if true {"},
	{"shard: leave the files at the target after a failure", "steps/shard.go", "if s.Copying && !s.purged[s.Target]", "if false && !s.purged[s.Target]"},
	{"shard: a shard on both after the end", "steps/shard.go", "	s.Unmounting = true\n	return s.call(Call{Op: EcUnmount, Server: s.Source})", "	return ended(done(ShardMoved))"},
	{"shard: remove the only one of a duplicate", "steps/shard.go", "	case here && s.Duplicate:\n		return ended(done(Stale))\n", "	case here && s.Duplicate:\n		return s.arrived()\n"},
	{"shard: act while a server cannot be read", "steps/shard.go", "if seen.Shards[server].Presence == Unknown {", "if false {"},
	{"shard: do not say that files are left", "steps/shard.go", "		end.leaves(LeftShards, s.Source)\n	}\n	return end", "	}\n	return end"},
	{"lease: no pause before a job begins", "../../activities/seaweedfs/walk.go", "	if step.Calm && !w.stopped {", "	if false {"},
	{"lease: no look after a pause", "../../activities/seaweedfs/walk.go", "		if err != nil || handed {\n			w.runner.Again()\n			return lost(w.volume, err)\n		}", "		if err != nil {\n			return lost(w.volume, err)\n		}\n		_ = handed"},
	{"lease: calls outlive it", "../../activities/seaweedfs/walk.go", "	ctx, cancel := w.hold.Context(ctx)", "	ctx, cancel := context.WithCancel(ctx)"},
	{"lease: short calls outlive it", "../../activities/seaweedfs/walk.go", "		ctx, end = context.WithDeadline(ctx, deadline)", "		ctx, end = context.WithDeadline(ctx, deadline.Add(time.Hour))"},
	{"checkpoint: written after the call", "../../activities/seaweedfs/walk.go", "	if err := w.keep(w.work); err != nil {\n		return err\n	}\n", "	defer func() { _ = w.keep(w.work) }()\n"},
	{"checkpoint: not read", "../../activities/seaweedfs/handler.go", "if job.Attempt > 1 || len(checkpoint) > 0 {", "if false {"},
}

// TestSabotagesAreNoticed builds the steps with one sabotage after the other and expects a test to fail. It
// takes minutes, so it runs by hand:
//
//	go test ./internal/seaweedfs/steps -run TestSabotages -sabotage=all -timeout 1h -v
//
// Without the flag it only checks that every sabotage still finds its place.
func TestSabotagesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, s := range sabotages {
		t.Run(s.name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", s.file))
			require.NoError(t, err)
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), s.old), "this text is once in %s: %s", s.file, s.old)
			if *sabotage == "all" || *sabotage != "" && strings.Contains(s.name, *sabotage) {
				output, noticed := against(t, path, strings.Replace(string(source), s.old, s.new, 1))
				assert.True(t, noticed, "no test fails:\n%s", output)
				assert.NotContains(t, output, "[build failed]")
			}
		})
	}
}

// against runs the tests with a file replaced.
func against(t *testing.T, path, source string) (output string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(broken, []byte(source), 0o600))
	encoded, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, encoded, 0o600))
	for _, with := range [][]string{
		{".", "-skip=TestSabotages", "-rapid.checks=1000", "-rapid.nofailfile", "-rapid.shrinktime=10ms"},
		{"../../../activities/seaweedfs"},
	} {
		args := append([]string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=10m", "-overlay=" + overlay}, with...)
		said, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput() //nolint:gosec // this test's own arguments
		if output += string(said); err != nil {
			lines := strings.Split(strings.TrimSpace(output), "\n")
			t.Logf("noticed: %s", strings.Join(lines[:min(2, len(lines))], " | "))
			return output, true
		}
	}
	return output, false
}
