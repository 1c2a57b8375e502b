package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/roundsman/roundsman/starter"
)

const (
	// maxTaskRows is how many running tasks have a row of their own.
	maxTaskRows = 8
	// maxTaskName is how many columns of their names are shown.
	maxTaskName = 32
)

// dagBars shows one bar for the run and, below it, a row for each of the first
// running tasks.
type dagBars struct {
	mu        sync.Mutex
	container *mpb.Progress
	now       func() time.Time
	columns   columns
	total     *row
	tasks     map[string]*row
	news      dagNews
	ended     bool
	closed    bool
}

func newDAGBars(w io.Writer, width int, now func() time.Time) *dagBars {
	columns := columnsOf(width)
	return &dagBars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(columns.width), mpb.WithRefreshRate(refreshEvery), mpb.WithAutoRefresh()),
		now:       now, columns: columns, tasks: map[string]*row{},
	}
}

// Update implements DAGDisplay.
func (b *dagBars) Update(snapshot starter.DAGSnapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.ended {
		return
	}
	if !snapshot.Open() {
		b.ended = true
		b.drop()
		for _, line := range DAGSummary(snapshot) {
			b.print(line)
		}
		return
	}
	for _, line := range b.news.lines(snapshot) {
		b.print(snapshot.DAG + ": " + line)
	}
	if b.total == nil {
		b.total = b.add(b.columns.name(snapshot.DAG))
	}
	done, total := 0, 0
	if state := snapshot.State; state != nil {
		done, total = DAGEnded(state.Counts), state.Total
	}
	said := fmt.Sprintf("%d/%d", done, total)
	b.total.set(done, total, said, b.columns.text(dagDoing(snapshot), said))
	b.showTasks(snapshot.Active)
}

// showTasks gives running tasks their rows and takes away those of tasks that
// are no longer running.
func (b *dagBars) showTasks(active []starter.ActiveJob) {
	running := map[string]bool{}
	for _, task := range active {
		if task.Started {
			running[task.JobID] = true
		}
	}
	for id, shown := range b.tasks {
		if !running[id] {
			shown.bar.Abort(true)
			delete(b.tasks, id)
		}
	}
	for _, task := range active {
		if !task.Started {
			continue
		}
		shown := b.tasks[task.JobID]
		if shown == nil {
			if len(b.tasks) == maxTaskRows {
				continue
			}
			shown = b.add(b.columns.indented(shorten(task.JobID, maxTaskName)))
			b.tasks[task.JobID] = shown
		}
		percent, said := taskProgress(task)
		shown.set(percent, 100, said, b.columns.text(taskDoing(task, b.now()), said))
	}
}

func taskProgress(task starter.ActiveJob) (percent int, said string) {
	if task.Progress == nil || task.Progress.Percent <= 0 {
		return 0, ""
	}
	percent = min(int(task.Progress.Percent), 100)
	return percent, fmt.Sprintf("%d%%", percent)
}

func taskDoing(task starter.ActiveJob, now time.Time) string {
	worker, _, _ := strings.Cut(task.Identity, "@")
	parts := []string{now.Sub(task.StartedAt).Round(time.Second).String()}
	if task.Progress != nil {
		if task.Progress.Worker != "" {
			worker = task.Progress.Worker
		}
		parts = append(parts, task.Progress.Stage, task.Progress.Message)
	}
	return strings.Join(strings.Fields(worker+" "+strings.Join(parts, " ")), " ")
}

func (b *dagBars) add(name string) *row {
	shown := &row{}
	// Without a total a bar does not end by itself; see bars.add.
	shown.bar = b.container.New(0, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
		mpb.BarWidth(b.columns.bar()),
		mpb.PrependDecorators(decor.Name(name+" ", decor.WCSyncSpaceR), decor.Any(shown.counts, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(shown.doing)),
	)
	return shown
}

func (r *row) set(done, total int, said, text string) {
	r.mu.Lock()
	r.done, r.text = said, text
	r.mu.Unlock()
	r.bar.SetTotal(int64(total), false)
	r.bar.SetCurrent(int64(done))
}

// Note implements DAGDisplay.
func (b *dagBars) Note(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && line != "" {
		b.print(line)
	}
}

// print puts a line above the bars; see bars.print.
func (b *dagBars) print(line string) {
	_, _ = fmt.Fprintln(b.container, line)
}

// drop removes all bars from the screen.
func (b *dagBars) drop() {
	for _, shown := range b.tasks {
		shown.bar.Abort(true)
		shown.bar.Wait()
	}
	if b.total != nil {
		b.total.bar.Abort(true)
		b.total.bar.Wait()
	}
}

// Close implements DAGDisplay.
func (b *dagBars) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	b.drop()
	b.container.Wait()
}
