package runs

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/joblogs"
)

// printing is a job whose attempts print. Their outputs and the answers change with each read of the last attempt.
type printing struct {
	// steps are called one after another, before a read of the last attempt.
	steps   []func(*printing)
	attempt int
	ended   bool
	outputs map[int]string
	// silent attempts have a worker that does not answer. result is the end of the last output.
	silent map[int]bool
	result string
	// whole: the result has the output from its start.
	whole bool
}

func (p *printing) read(_ context.Context, attempt int, offset int64) (joblogs.Part, error) {
	if attempt == 0 {
		if len(p.steps) > 0 {
			p.steps[0](p)
			p.steps = p.steps[1:]
		}
		attempt = p.attempt
	}
	part := joblogs.Part{Attempt: attempt, Ended: p.ended, From: joblogs.FromNowhere}
	output, known := p.outputs[attempt]
	switch {
	case !known && attempt != p.attempt:
		return joblogs.Part{}, &starter.NotFoundError{What: "attempt", Name: fmt.Sprint(attempt)}
	case p.silent[attempt]:
		part.Gone, part.Note = joblogs.GoneSilent, fmt.Sprintf("worker of attempt %d does not answer", attempt)
		if p.ended && p.result != "" {
			if p.whole {
				part.Offset = min(offset, int64(len(p.result)))
			}
			part.From, part.Text, part.Next = joblogs.FromResult, p.result[part.Offset:], int64(len(p.result))
		}
		return part, nil
	}
	part.From, part.Running = joblogs.FromWorker, !p.ended
	part.Offset, part.Next = offset, int64(len(output))
	part.Text = output[offset:]
	return part, nil
}

func (p *printing) followed(t *testing.T) (printed, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	l := &log{commands: &commands{&ui.Program{Env: ui.Env{Stdout: &stdout, Stderr: &stderr}}}, follow: true, read: p.read}
	synctest.Test(t, func(t *testing.T) { require.NoError(t, l.run(t.Context(), l.print)) })
	return stdout.String(), stderr.String()
}

// TestAFollowerPrintsTheRestOfAnAttempt: its worker died after a last line, and the next attempt began before the next
// look. That line was lost.
func TestAFollowerPrintsTheRestOfAnAttempt(t *testing.T) {
	t.Parallel()
	end := func(p *printing) { p.ended = true }
	for name, c := range map[string]struct {
		job    printing
		want   string
		silent string
	}{
		"printed before": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(*printing) {}, func(p *printing) {
				p.outputs, p.attempt = map[int]string{1: "one\nlast words\n", 2: "two\n"}, 2
			}, end,
		}}, "one\nlast words\ntwo\n", ""},
		"printed nothing before": {printing{outputs: map[int]string{1: ""}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.outputs, p.attempt = map[int]string{1: "last words\n", 2: "two\n"}, 2 }, end,
		}}, "last words\ntwo\n", ""},
		"two attempts at once": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) {
				p.outputs, p.attempt = map[int]string{1: "one\n", 2: "two\n", 3: "three\n"}, 3
			}, end,
		}}, "one\ntwo\nthree\n", ""},
		"an attempt that is not known": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.outputs, p.attempt = map[int]string{3: "three\n"}, 3 }, end,
		}}, "one\nthree\n", ""},
		"the worker is away": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) {
				p.outputs[2], p.attempt, p.silent = "two\n", 2, map[int]bool{1: true}
			}, end,
		}}, "one\ntwo\n", "the end of attempt 1 may be missing: worker of attempt 1 does not answer"},
		"the worker is away at the end": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.ended, p.silent = true, map[int]bool{1: true} },
		}}, "one\n", "the end of attempt 1 may be missing: worker of attempt 1 does not answer"},
		"the result has the end": {printing{whole: true, outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) {
				p.ended, p.silent, p.result = true, map[int]bool{1: true}, "one\nlast words\n"
			},
		}}, "one\nlast words\n", ""},
		"the result has the same line again": {printing{whole: true, outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.ended, p.silent, p.result = true, map[int]bool{1: true}, "one\none\none\n" },
		}}, "one\none\none\n", ""},
		"the whole result is printed": {printing{whole: true, outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.ended, p.silent, p.result = true, map[int]bool{1: true}, "one\n" },
		}}, "one\n", ""},
		"the result has no more": {printing{outputs: map[int]string{1: "zero\none\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.ended, p.silent, p.result = true, map[int]bool{1: true}, "one\n" },
		}}, "zero\none\n", ""},
		"the result has a later part": {printing{outputs: map[int]string{1: "one\n"}, steps: []func(*printing){
			func(*printing) {}, func(p *printing) { p.ended, p.silent, p.result = true, map[int]bool{1: true}, "last words" },
		}}, "one\nlast words", "output before this may be missing"},
	} {
		c.job.attempt = 1
		printed, notes := c.job.followed(t)
		assert.Equal(t, c.want, printed, name)
		if c.silent == "" {
			assert.Empty(t, notes, name)
		} else {
			assert.Contains(t, notes, c.silent, name)
		}
	}
}

// TestAResultContinuesWhatIsPrinted, wherever the printing stopped.
func TestAResultContinuesWhatIsPrinted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for k := range 3000 {
		fmt.Fprintf(&b, "line %d\n", k)
	}
	output := b.String()
	result := output[len(output)-jobtype.MaxOutputBytes:]
	for at := len(output) - jobtype.MaxOutputBytes - 100; at <= len(output); at += 37 {
		printed := output[max(0, at-jobtype.MaxOutputBytes):at]
		text, _ := continued(printed, result)
		if missed := len(output) - jobtype.MaxOutputBytes - at; missed > 0 {
			assert.LessOrEqual(t, len(result)-len(text), len("line 1000\n"), at)
			continue
		}
		require.Equal(t, output[at:], text, at)
	}
}
