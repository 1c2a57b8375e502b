package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func task(id string, needs ...string) Task { return Task{ID: id, Needs: needs, Kind: "command"} }

func nine() *Picture {
	return &Picture{Title: "nine", Tasks: []Task{
		task("1"), task("2"), task("3"), task("4", "1", "2"), task("5", "2"), task("6", "2"),
		task("7", "1", "2", "4"), task("8", "5", "6"), task("9", "4", "6"),
	}}
}

func nineFailed() *Picture {
	p := nine()
	p.Run, p.Subtitle = true, "dag/nine/x (failed)"
	for i, state := range []string{"completed", "completed", "completed", "failed", "completed", "completed", "upstream_failed", "completed", "upstream_failed"} {
		p.Tasks[i].State = state
	}
	p.Tasks[3].Note = `exit status 1: "no such disk" <sda>`
	return p
}

// fanOut is a fan-out of n tasks between two tasks.
func fanOut(n int) *Picture {
	p := &Picture{Title: "fan", Tasks: []Task{task("plan")}}
	ship := Task{ID: "check", Kind: "job_type", Rule: "all_done"}
	for i := range n {
		id := fmt.Sprintf("ship.%d", i)
		p.Tasks = append(p.Tasks, task(id, "plan"))
		ship.Needs = append(ship.Needs, id)
	}
	p.Tasks = append(p.Tasks, ship)
	return p
}

// draw returns a picture, and the number of its boxes.
func draw(t *testing.T, p *Picture, format Format) (text string, boxes int) {
	t.Helper()
	var out strings.Builder
	require.NoError(t, p.Draw(&out, format))
	return out.String(), len(p.boxes(len(p.Tasks) > autoCollapse).boxes)
}

// wellFormed parses an SVG as strictly as a browser and returns its texts.
func wellFormed(t *testing.T, svg string) []string {
	t.Helper()
	var texts []string
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
}

func TestSVGSaysEverythingInWords(t *testing.T) {
	t.Parallel()
	svg, boxes := draw(t, nineFailed(), SVG)
	assert.Equal(t, 9, boxes)
	texts := wellFormed(t, svg)
	assert.Equal(t, "DAG nine, dag/nine/x (failed)", texts[0])
	assert.Equal(t, "9 tasks, 11 dependencies: 1 ✗ failed, 2 ⊘ upstream failed, 6 ✓ completed. Failed: 4.", texts[1])
	assert.Contains(t, texts, "4\ncommand\n✗ failed\nexit status 1: \"no such disk\" <sda>", "the tooltip")
	for _, says := range []string{"✗ failed", "⊘ upstream failed", "✓ completed"} {
		assert.Contains(t, texts, says, "in a box or in the legend")
	}
	assert.NotContains(t, texts, "▶ running", "the legend has what the picture shows")
	for _, part := range []string{`role="img"`, `aria-labelledby="title desc"`, `<title id="title">`, `<desc id="desc">`} {
		assert.Contains(t, svg, part)
	}
	assert.Equal(t, 11, strings.Count(svg, "marker-end"))
	for _, never := range []string{"<script", "<image", "href", "@import", "NaN", "Inf"} {
		assert.NotContains(t, svg, never)
	}
}

func TestKindsAreColoredWithoutARun(t *testing.T) {
	t.Parallel()
	p := fanOut(2)
	svg, _ := draw(t, p, SVG)
	texts := wellFormed(t, svg)
	assert.Contains(t, texts, "job_type (all_done)")
	assert.Contains(t, texts, "job type", "the legend")
	assert.NotContains(t, svg, "not in this run")
}

func TestHostileTextCannotLeaveItsPlace(t *testing.T) {
	t.Parallel()
	p := &Picture{Title: `x"]; evil -> y; [label="`, Run: true, Tasks: []Task{
		{ID: "a", Kind: "command", State: "failed", Note: "</title><script>alert(1)</script>\x00\x1b[31m\xff"},
		{ID: `b"<br>`, Kind: "command\\", Needs: []string{"a", "missing"}},
	}}
	svg, _ := draw(t, p, SVG)
	assert.Equal(t, 1, strings.Count(svg, "marker-end"), "a need that is not in the picture is no edge")
	wellFormed(t, svg)
	assert.NotContains(t, svg, "<script>")
	dot, _ := draw(t, p, Dot)
	assert.Contains(t, dot, `label="b\"<br>\ncommand\\\n`)
	for line := range strings.SplitSeq(strings.TrimSpace(dot), "\n") {
		unescaped := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, "")
		assert.Zero(t, strings.Count(unescaped, `"`)%2, line)
	}
	mermaid, _ := draw(t, p, Mermaid)
	assert.Contains(t, mermaid, `b#34;#60;br#62;`)
	assert.NotContains(t, mermaid, "<script>")
}

func TestDotAndMermaid(t *testing.T) {
	t.Parallel()
	p := nineFailed()
	dot, _ := draw(t, p, Dot)
	assert.Contains(t, dot, `digraph "nine" {`)
	assert.Contains(t, dot, "rankdir=LR")
	assert.Equal(t, 11, strings.Count(dot, "->"))
	assert.Contains(t, dot, `n3 [label="4\ncommand\n✗ failed"`)
	assert.Contains(t, dot, "cluster_legend")

	mermaid, _ := draw(t, p, Mermaid)
	assert.True(t, strings.HasPrefix(mermaid, "flowchart LR\n  accTitle: DAG nine, dag/nine/x (failed)\n  accDescr: 9 tasks, "), mermaid)
	assert.Equal(t, 11, strings.Count(mermaid, "-->"))
	assert.Contains(t, mermaid, `n3["4<br/>command<br/>✗ failed"]:::look0`)
	assert.Contains(t, mermaid, "classDef look0 fill:#fecaca")
}

func TestTheSameTasksGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		first, _ := draw(t, nineFailed(), format)
		for range 5 {
			again, _ := draw(t, nineFailed(), format)
			require.Equal(t, first, again)
		}
	}
}

func TestFanOutsAreOneBoxInLargeGraphs(t *testing.T) {
	t.Parallel()
	p := fanOut(10_000)
	p.Run = true
	for i := range p.Tasks {
		p.Tasks[i].State = "completed"
	}
	p.Tasks[17].State, p.Tasks[99].State, p.Tasks[300].State = "failed", "running", "running"
	svg, boxes := draw(t, p, SVG)
	assert.Equal(t, 3, boxes)
	texts := wellFormed(t, svg)
	assert.Contains(t, texts, "10000 × command")
	assert.Contains(t, texts, "1 ✗ failed, 2 ▶ running, 9997 ✓ completed")
	assert.Contains(t, texts[1], "10002 tasks in 3 boxes, 2 dependencies")

	_, boxes = draw(t, fanOut(5), SVG)
	assert.Equal(t, 7, boxes, "a small graph is drawn as it is")
}

// layered is n tasks in layers of the given width, each with two needs in the previous layer.
func layered(n, width int) *Picture {
	p := &Picture{Title: "layers"}
	for i := range n {
		t := task(fmt.Sprintf("t%d", i))
		if layer := i / width; layer > 0 {
			first := (layer - 1) * width
			t.Needs = []string{fmt.Sprintf("t%d", first+i*7%width), fmt.Sprintf("t%d", first+(i*13+1)%width)}
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func TestWhatIsTooLargeIsRefusedAtOnce(t *testing.T) {
	// A ladder whose top is a need of every rung has few boxes, but its edges cross 125,000 layers.
	ladder := &Picture{Title: "ladder", Tasks: []Task{task("t0")}}
	for i := 1; i < 500; i++ {
		ladder.Tasks = append(ladder.Tasks, task(fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i-1), "t0"))
	}
	dense := &Picture{Title: "dense"}
	for i := range 200 {
		id := fmt.Sprintf("t%d", i)
		if i < 100 {
			dense.Tasks = append(dense.Tasks, task(id))
			continue
		}
		next := task(id)
		for k := range 100 {
			next.Needs = append(next.Needs, fmt.Sprintf("t%d", k))
		}
		dense.Tasks = append(dense.Tasks, next)
	}
	for name, p := range map[string]*Picture{"boxes": layered(10_000, 1000), "bends": ladder, "edges": dense} {
		var err error
		allocations := testing.AllocsPerRun(1, func() { err = p.Draw(io.Discard, SVG) })
		t.Logf("%s: %.0f allocations", name, allocations)
		var tooLarge *TooLargeError
		require.ErrorAs(t, err, &tooLarge, name)
		assert.Less(t, allocations, 5e5, name)
		for _, says := range []string{"roundsman show RUN/TASK -o svg", "-o dot", fmt.Sprint(tooLarge.Boxes)} {
			assert.ErrorContains(t, err, says, name)
		}
		require.NoError(t, p.Draw(io.Discard, Dot), name)
	}
	require.ErrorContains(t, layered(1000, 100).Draw(io.Discard, Mermaid), "Mermaid takes at most 500")
}

// A viewer of Mermaid with its defaults refuses more than 500 dependencies and more than 50,000 characters.
func TestAViewerTakesEveryFlowchart(t *testing.T) {
	t.Parallel()
	drawn := 0
	for n := 100; n <= 3200; n *= 2 {
		p := &Picture{Title: "単独", Run: true}
		for i := range n {
			p.Tasks = append(p.Tasks, Task{ID: fmt.Sprintf("task%d", i), Kind: "command", State: "upstream_failed"})
		}
		var out strings.Builder
		if err := p.Draw(&out, Mermaid); err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("DAG 単独 has %d boxes and 0 dependencies to draw in ", n))
			require.ErrorContains(t, err, "(Mermaid takes at most 50000 characters)")
			require.ErrorContains(t, err, "write -o dot")
			assert.Empty(t, out.String())
			continue
		}
		drawn = n
		assert.LessOrEqual(t, len(utf16.Encode([]rune(out.String()))), 50_000)
	}
	assert.Equal(t, 800, drawn)
}

// The same tasks give the same bytes in a locale of East Asia, where these marks take two columns of a terminal.
func TestPicturesDoNotDependOnTheLocale(t *testing.T) {
	bars := []Bar{{ID: "⊘…", State: "failed", Began: time.Unix(0, 0), Ended: time.Unix(9, 0)}}
	all := func() string {
		var out strings.Builder
		for _, format := range Formats() {
			require.NoError(t, nineFailed().Draw(&out, format))
		}
		require.NoError(t, Gantt(&out, "x", bars, time.Unix(9, 0)))
		return out.String()
	}
	before := all()
	runewidth.DefaultCondition.EastAsianWidth = true
	defer func() { runewidth.DefaultCondition.EastAsianWidth = false }()
	assert.Equal(t, before, all())
}

func TestAround(t *testing.T) {
	t.Parallel()
	ids := func(p *Picture) (ids []string) {
		for _, task := range p.Tasks {
			ids = append(ids, task.ID)
		}
		return ids
	}
	p := nine()
	require.NoError(t, p.Around("4"))
	assert.Equal(t, []string{"1", "2", "4", "7", "9"}, ids(p))
	p = nine()
	require.NoError(t, p.Around("3"))
	assert.Equal(t, []string{"3"}, ids(p))
	p = fanOut(3)
	require.NoError(t, p.Around("ship.1"))
	assert.Equal(t, []string{"plan", "ship.1", "check"}, ids(p))
	p = fanOut(3)
	require.NoError(t, p.Around("ship"))
	assert.Len(t, p.Tasks, 5, "a fan-out as a whole")
	require.ErrorContains(t, nine().Around("10"), "has no task 10")

	big := layered(10_000, 1000)
	require.NoError(t, big.Around("t10"))
	assert.Less(t, len(big.Tasks), 10_000)
}

func TestAnEmptyPictureIsStillOne(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		text, boxes := draw(t, &Picture{Title: "empty"}, format)
		assert.NotEmpty(t, text)
		assert.Zero(t, boxes)
	}
	require.ErrorContains(t, nine().Draw(io.Discard, "png"), "png")
}

// The layout library is young. For all input, boxes must not overlap, and every edge must begin and end
// at its boxes.
func TestLayoutProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "tasks")
		p := &Picture{Title: "random", Down: rapid.Bool().Draw(rt, "down")}
		for i := range n {
			next := task(rapid.StringMatching(`[a-z]{1,20}`).Draw(rt, "name") + fmt.Sprint(i))
			for range rapid.IntRange(0, min(i, 4)).Draw(rt, "needs") {
				next.Needs = append(next.Needs, p.Tasks[rapid.IntRange(0, i-1).Draw(rt, "need")].ID)
			}
			p.Tasks = append(p.Tasks, next)
		}
		s := p.boxes(rapid.Bool().Draw(rt, "collapse"))
		laid, err := p.layout(s)
		require.NoError(rt, err)
		checkLayout(rt, p, s, laid)
	})
}

func checkLayout(t require.TestingT, p *Picture, s sketch, laid placed) {
	const slack = 0.5
	for i := range s.boxes {
		at, size := laid.middles[i], laid.sizes[i]
		require.GreaterOrEqual(t, at.x-size.x/2, -slack)
		require.LessOrEqual(t, at.x+size.x/2, laid.width+slack)
		require.GreaterOrEqual(t, at.y-size.y/2, -slack)
		require.LessOrEqual(t, at.y+size.y/2, laid.height+slack)
		for k := range i {
			apartX := math.Abs(at.x-laid.middles[k].x) - (size.x+laid.sizes[k].x)/2
			apartY := math.Abs(at.y-laid.middles[k].y) - (size.y+laid.sizes[k].y)/2
			require.Greater(t, max(apartX, apartY), 0.0, "%s and %s overlap", s.boxes[i].name, s.boxes[k].name)
		}
	}
	for i, e := range s.edges {
		route := laid.routes[i]
		from, to := laid.middles[e[0]], laid.middles[e[1]]
		require.LessOrEqual(t, outside(route[0], from, laid.sizes[e[0]]), slack, "the route begins at its box")
		require.LessOrEqual(t, outside(route[len(route)-1], to, laid.sizes[e[1]]), slack, "the route ends at its box")
		if p.Down {
			require.Less(t, from.y, to.y, "time runs down")
		} else {
			require.Less(t, from.x, to.x, "time runs to the right")
		}
	}
}

// outside returns the distance of a point from a box.
func outside(at, middle, size point) float64 {
	return max(math.Abs(at.x-middle.x)-size.x/2, math.Abs(at.y-middle.y)-size.y/2, 0)
}

func TestLayoutForOtherPrograms(t *testing.T) {
	t.Parallel()
	drawing, ok, err := nineFailed().Layout(9)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, drawing.Boxes, 9)
	for _, box := range drawing.Boxes {
		assert.Equal(t, box.ID, box.Lines[0])
		assert.NotEmpty(t, box.State)
		assert.True(t, box.X >= 0 && box.Y >= 0 && box.X+box.Width <= drawing.Width && box.Y+box.Height <= drawing.Height, "%+v", box)
	}
	for _, edge := range drawing.Edges {
		assert.Regexp(t, `^M[\d.]+[ ,][\d.]+`, edge.Path)
	}
	_, ok, err = nineFailed().Layout(8)
	require.NoError(t, err)
	assert.False(t, ok, "nine boxes are more than eight")
}

// The task in place of a fan-out is not counted once the fan-out's tasks are known.
func TestAStandInIsOneBoxWithItsTasks(t *testing.T) {
	t.Parallel()
	p := &Picture{Title: "late", Tasks: []Task{
		task("hosts"),
		{ID: "drain", Kind: "fan_out", Needs: []string{"hosts"}},
		task("drain.a", "drain", "hosts"),
		task("drain.b", "drain", "hosts"),
	}}
	shown := p.boxes(true).boxes
	require.Len(t, shown, 2)
	assert.Contains(t, shown[1].lines, "2 × command")
	p.Tasks = p.Tasks[:2]
	assert.Contains(t, p.boxes(true).boxes[1].lines, "fan_out")
}
