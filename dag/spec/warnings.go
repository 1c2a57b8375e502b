package spec

import (
	"slices"

	"github.com/roundsman/roundsman/internal/lib/commandlint"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Warnings returns likely mistakes, which do not prevent a run.
func (c *Compiled) Warnings() Faults {
	return c.warnings(map[string]bool{})
}

func (c *Compiled) warnings(examined map[string]bool) Faults {
	var found Faults
	if !examined[c.Spec.file] {
		examined[c.Spec.file] = true
		found = c.Spec.warnings()
	}
	for _, sub := range c.subs {
		found = append(found, sub.warnings(examined)...)
	}
	return found
}

func (s *Spec) warnings() Faults {
	if s.text != nil && s.harmless() {
		return nil
	}
	if s.text != nil && s.place() != nil {
		return nil //nolint:nilerr // loading the text reported its faults
	}
	w := &collector{file: s.file}
	w.warn(commandlint.Values(s.written, "params"))
	w.warn(commandlint.Values(s.defaults.Get("env"), "defaults.env"))
	for k := range s.Tasks {
		w.warn(taskWarnings(s.Tasks[k].node))
	}
	if w.count() == 0 {
		return nil
	}
	return w.sorted("warnings")
}

func (s *Spec) harmless() bool {
	found := 0
	root := yamlread.ReadItems(s.file, s.text, documentOptions(false), "tasks", func(n *yamlread.Node) bool {
		found += len(taskWarnings(n))
		return found == 0
	})
	return root != nil && len(commandlint.Values(root.Get("params"), "params"))+len(commandlint.Values(root.Get("defaults").Get("env"), "defaults.env")) == 0
}

func (c *collector) warn(found []commandlint.Located) {
	for _, f := range found {
		c.on(f.Place, "%s: %s", f.Path, f.Message())
	}
}

func taskWarnings(task *yamlread.Node) []commandlint.Located {
	return slices.Concat(commandlint.Command(task.Get("command"), "command"), commandlint.Around(task, ""), commandlint.Script(task.Get("shell"), "shell"),
		commandlint.Values(task.Get("params"), "params"), commandlint.Values(task.Get("env"), "env"))
}
