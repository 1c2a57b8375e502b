package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/roundsman/roundsman/starter"
)

// refreshEvery is how often the bars are redrawn.
const refreshEvery = 150 * time.Millisecond

// bars shows one live bar per open run; the summary of an ended run stays above
// them.
type bars struct {
	mu        sync.Mutex
	container *mpb.Progress
	columns   columns
	rows      map[string]*row
	closed    bool
	// stamp, if not nil, is what every line begins with.
	stamp func() string
}

type row struct {
	bar   *mpb.Bar
	ended bool

	mu   sync.Mutex
	text string
	done string
}

func newBars(w io.Writer, width int) *bars {
	columns := columnsOf(width)
	return &bars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(columns.width), mpb.WithRefreshRate(refreshEvery), mpb.WithAutoRefresh()),
		columns:   columns,
		rows:      map[string]*row{},
	}
}

// Update implements Display.
func (b *bars) Update(snapshot starter.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	shown := b.rows[snapshot.WorkflowID]
	if shown == nil {
		shown = b.add(snapshot.JobType)
		b.rows[snapshot.WorkflowID] = shown
	}
	if shown.ended {
		return
	}
	if !snapshot.Open() {
		shown.ended = true
		shown.bar.Abort(true)
		shown.bar.Wait()
		for _, line := range Summary(snapshot) {
			b.print(line)
		}
		return
	}
	done := countsOf(snapshot)
	shown.show(done, b.columns.text(doing(snapshot), done.String()))
}

func (b *bars) add(jobType string) *row {
	name := b.columns.name(jobType)
	shown := &row{text: "starting"}
	// A bar that starts with a total ends by itself when it gets there; this one
	// ends when its run does.
	shown.bar = b.container.New(0, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
		mpb.BarWidth(b.columns.bar()),
		mpb.PrependDecorators(decor.Name(name+" ", decor.WCSyncSpaceR), decor.Any(shown.counts, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(shown.doing)),
	)
	return shown
}

func (r *row) counts(decor.Statistics) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *row) doing(decor.Statistics) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

func (r *row) show(done tally, text string) {
	r.mu.Lock()
	r.text, r.done = text, done.String()
	r.mu.Unlock()
	r.bar.SetTotal(int64(done.of), false)
	r.bar.SetCurrent(int64(done.ended))
}

// tally is how many jobs of a run have ended, of how many.
type tally struct{ ended, of int }

func countsOf(snapshot starter.Snapshot) tally {
	if snapshot.Group == nil {
		return tally{}
	}
	return tally{ended: Ended(snapshot.Group.Counts), of: snapshot.Group.Counts.Accepted}
}

func (t tally) String() string { return fmt.Sprintf("%d/%d", t.ended, t.of) }

// Note implements Display.
func (b *bars) Note(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.print(line)
	}
}

// print puts a line above the bars. After Shutdown mpb refuses it; there is
// nobody left to tell.
func (b *bars) print(line string) {
	if b.stamp != nil {
		line = b.stamp() + line
	}
	_, _ = fmt.Fprintln(b.container, line)
}

// Close implements Display.
func (b *bars) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	for _, shown := range b.rows {
		shown.bar.Abort(true)
	}
	b.container.Wait()
}
