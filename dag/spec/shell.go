package spec

import (
	"cmp"
	"errors"
	"maps"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/bash"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

func (r reader) shell(n *yamlread.Node) string {
	text := r.text(n, "shell")
	if !isScalar(n) {
		return ""
	}
	if _, err := bash.Templated(text); err != nil {
		at := n
		if fault, ok := errors.AsType[*bash.Fault](err); ok && n.Block {
			at, err = below(n, fault.Line), fault.Err
		}
		r.at(at, "shell: %v", err)
		return ""
	}
	return text
}

func (u *unit) script(t *Task, d *Definition) {
	if t.Shell == "" {
		return
	}
	read, err := bash.Templated(t.Shell)
	if err != nil {
		u.at(cmp.Or(child(t.node, "shell"), t.node), "task %q: shell: %v", t.ID, err)
		return
	}
	d.Command = make([]string, len(read.Argv))
	for k, argument := range read.Argv {
		d.Command[k] = verbatim(argument)
	}
	if len(read.Values) == 0 {
		return
	}
	env := map[string]any{}
	if own, ok := d.Launch["env"].(map[string]any); ok {
		env = maps.Clone(own)
	}
	//workflowcheck:ignore each goes to a place of its own
	for name, template := range read.Values {
		env[name] = template
	}
	launch := map[string]any{}
	maps.Copy(launch, d.Launch)
	launch["env"] = env
	d.Launch = launch
}

func verbatim(text string) string {
	if !gotemplate.Templated(text) {
		return text
	}
	return strings.ReplaceAll(text, "{{", `{{"{{"}}`)
}
