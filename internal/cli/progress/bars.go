package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const (
	// refreshEvery is how often the bars are redrawn.
	refreshEvery = 150 * time.Millisecond
	// maxItemRows bounds the rows of running items, maxItemName the columns of their names.
	maxItemRows = 8
	maxItemName = 32
)

// bars shows one live bar per open run and, below it, rows for the first running items.
type bars struct {
	mu        sync.Mutex
	container *mpb.Progress
	columns   columns
	now       func() time.Time
	own       *ui.Renaming
	stamp     func() string
	items     bool
	runs      map[string]*runRows
	closed    bool
}

type runRows struct {
	*row

	news  news
	items map[string]*row
	ended bool
}

type row struct {
	bar *mpb.Bar

	mu         sync.Mutex
	text, done string
}

func newBars(w io.Writer, o Options, stamp func() string) *bars {
	columns := columnsOf(o.Width)
	return &bars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(columns.width), mpb.WithRefreshRate(refreshEvery), mpb.WithAutoRefresh()),
		columns:   columns, now: o.Now, own: o.Own, stamp: stamp, items: o.Items, runs: map[string]*runRows{},
	}
}

// Update implements Display.
func (b *bars) Update(snapshot starter.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	shown := b.runs[snapshot.WorkflowID]
	if shown == nil {
		shown = &runRows{row: b.add(b.columns.name(nameOf(snapshot))), items: map[string]*row{}}
		b.runs[snapshot.WorkflowID] = shown
	}
	if shown.ended {
		return
	}
	if !snapshot.Open() {
		shown.ended = true
		shown.drop()
		for _, line := range Summary(snapshot, b.own) {
			b.print(line)
		}
		return
	}
	for _, line := range shown.news.lines(snapshot, b.own) {
		b.print(nameOf(snapshot) + ": " + line)
	}
	var p starter.Progress
	if snapshot.Progress != nil {
		p = *snapshot.Progress
	}
	done := fmt.Sprintf("%d/%d", p.Ended, p.Total)
	shown.set(p.Ended, p.Total, done, b.columns.text(Doing(snapshot), done))
	if b.items {
		b.showItems(shown, snapshot.Active)
	}
}

// showItems adds rows for running items and removes the rows of ended items.
func (b *bars) showItems(of *runRows, active []starter.ActiveItem) {
	running := map[string]bool{}
	for _, item := range active {
		running[item.ID] = item.Started
	}
	for id, shown := range of.items {
		if !running[id] {
			shown.bar.Abort(true)
			delete(of.items, id)
		}
	}
	for _, item := range active {
		if !item.Started {
			continue
		}
		shown := of.items[item.ID]
		if shown == nil {
			if len(of.items) == maxItemRows {
				continue
			}
			shown = b.add(b.columns.indented(shorten(item.ID, maxItemName)))
			of.items[item.ID] = shown
		}
		done := 0
		if item.Progress != nil {
			done = int(min(max(item.Progress.Percent, 0), 100))
		}
		shown.set(done, 100, percent(item), b.columns.text(itemDoing(item, b.now()), percent(item)))
	}
}

func itemDoing(item starter.ActiveItem, now time.Time) string {
	parts := []string{item.Worker(), now.Sub(item.StartedAt).Round(time.Second).String()}
	if item.Progress != nil {
		parts = append(parts, item.Progress.Stage, item.Progress.Message)
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

func (b *bars) add(name string) *row {
	shown := &row{text: "starting"}
	// A bar with a total ends when it is full. This bar ends with its run.
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

func (r *row) set(done, total int, said, text string) {
	r.mu.Lock()
	r.text, r.done = text, said
	r.mu.Unlock()
	r.bar.SetTotal(int64(total), false)
	r.bar.SetCurrent(int64(done))
}

func (r *runRows) drop() {
	for _, shown := range r.items {
		shown.bar.Abort(true)
		shown.bar.Wait()
	}
	r.bar.Abort(true)
	r.bar.Wait()
}

// Note implements Display.
func (b *bars) Note(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && line != "" {
		b.print(line)
	}
}

// print writes a line above the bars. mpb refuses it after Shutdown, when the line has no reader.
func (b *bars) print(line string) {
	_, _ = fmt.Fprintln(b.container, b.stamp()+line)
}

// Close implements Display.
func (b *bars) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	for _, shown := range b.runs {
		shown.drop()
	}
	b.container.Wait()
}
