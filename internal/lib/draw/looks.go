package draw

import (
	"cmp"
	"strings"
)

// Fills are light, for a contrast of black text over 10:1, and differ in lightness as well as in hue.
type look struct {
	name         string
	mark         string
	fill, stroke string
	dashed       bool
}

const (
	ink   = "#18181b"
	paper = "#ffffff"
	line  = "#71717a"
)

func (l look) says() string {
	name := cmp.Or(strings.ReplaceAll(l.name, "_", " "), "not in this run")
	return strings.TrimSpace(l.mark + " " + name)
}

// stateLooks lists the most urgent state first, for a fan-out's box.
func stateLooks() []look {
	return []look{
		{name: "failed", mark: "✗", fill: "#fecaca", stroke: "#b91c1c"},
		{name: "upstream_failed", mark: "⊘", fill: "#fde8d8", stroke: "#c2410c", dashed: true},
		{name: "canceled", mark: "■", fill: "#e9d5ff", stroke: "#7e22ce"},
		{name: "running", mark: "▶", fill: "#bfdbfe", stroke: "#1d4ed8"},
		{name: "ready", mark: "◔", fill: "#e0f2fe", stroke: "#0369a1"},
		{name: "pending", mark: "…", fill: "#f4f4f5", stroke: "#71717a"},
		{name: "skipped", mark: "↷", fill: "#fef9c3", stroke: "#a16207", dashed: true},
		{name: "warning", mark: "⚠", fill: "#fef3c7", stroke: "#b45309"},
		{name: "completed", mark: "✓", fill: "#bbf7d0", stroke: "#15803d"},
		{fill: paper, stroke: "#a1a1aa", dashed: true},
	}
}

func kindLooks() []look {
	return []look{
		{name: "command", fill: "#e0f2fe", stroke: "#0369a1"},
		{name: "job_type", fill: "#dcfce7", stroke: "#15803d"},
		{name: "dag", fill: "#e9d5ff", stroke: "#7e22ce"},
		{name: "approval", fill: "#fef08a", stroke: "#a16207"},
		{name: "sleep", fill: "#f4f4f5", stroke: "#71717a", dashed: true},
		{name: standIn, fill: "#ccfbf1", stroke: "#0f766e", dashed: true},
		{name: "noop", fill: paper, stroke: "#71717a", dashed: true},
	}
}

func (p *Picture) looks() []look {
	if p.Run {
		return stateLooks()
	}
	return kindLooks()
}

func (p *Picture) used(s sketch) []look {
	seen := map[string]bool{}
	for _, b := range s.boxes {
		seen[b.look] = true
	}
	var used []look
	for _, l := range p.looks() {
		if seen[l.name] {
			used = append(used, l)
		}
	}
	return used
}

// lookOf returns a look by its name. An unknown name gets the look of a task outside the run.
func (p *Picture) lookOf(name string) look {
	for _, l := range p.looks() {
		if l.name == name {
			return l
		}
	}
	return look{name: name, fill: paper, stroke: line}
}
