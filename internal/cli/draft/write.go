package draft

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// write returns the configuration of all entries, with a comment for each note. own renames the program.
func write(entries []entry, notes []string, label [2]string, origin string, own *ui.Renaming) ([]byte, error) {
	jobs := &yaml.Node{Kind: yaml.MappingNode}
	for i := range entries {
		e := &entries[i]
		key := text(e.name)
		key.HeadComment = e.from
		for _, note := range e.notes {
			key.HeadComment += "\nTODO " + own.Code(note)
		}
		jobs.Content = append(jobs.Content, key, e.node(label))
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{text("version"), {Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}, text("job_types"), jobs}}
	root.HeadComment = fmt.Sprintf(own.Text("A draft from %s. Read each job type, then: roundsman validate, roundsman plan, roundsman apply.\n"+
		"It runs on workers with the label %s=%s: roundsman worker --id NAME --labels %[2]s=%[3]s\n"+
		"A program without user: runs as the user of the worker."), origin, label[0], label[1])
	for _, note := range notes {
		root.HeadComment += "\nTODO " + own.Code(note)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}); err != nil {
		return nil, fmt.Errorf("write the draft: %w", err)
	}
	return out.Bytes(), nil
}

func (e *entry) node(label [2]string) *yaml.Node {
	schedule, program := flow(yaml.MappingNode), &yaml.Node{Kind: yaml.MappingNode}
	if e.every != "" {
		add(schedule, "every", text(e.every))
	} else {
		add(schedule, "cron", list(e.cron))
		add(schedule, "timezone", text(e.timezone))
	}
	add(schedule, "jitter", text(e.jitter))
	add(program, "command", list(lists.Map(e.command, func(word string) string { return strings.ReplaceAll(word, "{{", "{{`{{`}}") })))
	for _, pair := range [][2]string{{"user", e.user}, {"group", e.group}, {"dir", e.dir}, {"umask", e.umask}, {"ionice", e.ionice}, {"stdin", e.stdin}} {
		add(program, pair[0], text(strings.ReplaceAll(pair[1], "{{", "{{`{{`}}")))
	}
	if e.nice != "" {
		add(program, "nice", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: e.nice})
	}
	if len(e.envFiles) > 0 {
		add(program, "env_file", list(e.envFiles))
	}
	if len(e.env) > 0 {
		env := flow(yaml.MappingNode)
		for _, pair := range e.env {
			env.Content = append(env.Content, text(pair[0]), text(strings.ReplaceAll(pair[1], "{{", "{{`{{`}}")))
		}
		add(program, "env", env)
	}
	job := &yaml.Node{Kind: yaml.MappingNode}
	add(job, "handler", text("command"))
	add(job, "each_worker", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	labels := flow(yaml.MappingNode)
	add(labels, label[0], text(label[1]))
	add(job, "labels", labels)
	add(job, "schedule", schedule)
	if e.timeout != "" {
		policy := flow(yaml.MappingNode)
		add(policy, "execution_timeout", text(e.timeout))
		add(job, "policy", policy)
	}
	add(job, "execute", program)
	return job
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	if value.Kind == yaml.ScalarNode && value.Value == "" {
		return
	}
	to.Content = append(to.Content, text(key), value)
}

func text(value string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(value)
	return node
}

func flow(kind yaml.Kind) *yaml.Node { return &yaml.Node{Kind: kind, Style: yaml.FlowStyle} }

func list(values []string) *yaml.Node {
	node := flow(yaml.SequenceNode)
	for _, value := range values {
		one := text(value)
		if one.Style == yaml.LiteralStyle || strings.Contains(value, " ") {
			one.Style = yaml.DoubleQuotedStyle
		}
		node.Content = append(node.Content, one)
	}
	return node
}
