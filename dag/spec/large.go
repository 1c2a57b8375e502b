package spec

import (
	"reflect"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// largeFrom is the document size from which tasks are read one by one.
const largeFrom = 256 << 10

// loadLarge keeps no nodes, which take more than a gigabyte for 300,000 tasks. It returns nil at a possible fault:
// only loadWhole can report it.
func loadLarge(file string, data []byte) *Spec {
	r := newReader(file)
	var tasks []Task
	root := yamlread.ReadItems(file, data, documentOptions(false), "tasks", func(n *yamlread.Node) bool {
		t := r.task(n, false)
		t.node = nil
		tasks = append(tasks, t)
		return r.count() == 0
	})
	if root == nil || len(tasks) == 0 {
		return nil
	}
	s := r.spec(root, func(*yamlread.Node) []Task { return tasks })
	if r.count() > 0 {
		return nil
	}
	s.text, s.size = data, len(data)
	return s
}

func (s *Spec) place() error {
	whole, err := loadWhole(s.file, s.text)
	if err != nil {
		return err
	}
	for k := range min(len(s.Tasks), len(whole.Tasks)) {
		s.Tasks[k].node = whole.Tasks[k].node
	}
	s.text, s.written, s.defaults = nil, whole.written, whole.defaults
	return nil
}

// share: most tasks of a large document are alike.
func (r reader) share(t *Task) {
	if last := r.last; last.Settings != nil {
		//workflowcheck:ignore the order in which it reads maps does not matter
		if reflect.DeepEqual(last.Settings, t.Settings) {
			t.Settings = last.Settings
		}
		if slices.Equal(last.Command, t.Command) {
			t.Command = last.Command
		}
	}
	r.last = Task{Settings: t.Settings, Command: t.Command}
}
