package jobtypes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesImport() *cli.Command {
	return &cli.Command{
		Name: "import", Hidden: true, ArgsUsage: "[HANDLER...]", Usage: "write a configuration for the handlers of workers of another system",
		Description: `It prints a configuration with a job type for each handler of the weed workers that are connected, or
for the handlers named: the settings of their forms with the defaults, their policy, how often they
are due. Nothing is applied. Weed workers connect to a gateway. It waits for the first one to connect.

Examples:
  roundsman jobtypes import > weed.yaml
  roundsman jobtypes import weed-vacuum weed-ec_balance`,
		Flags: ui.With(&cli.DurationFlag{Name: ui.FlagTimeout, Usage: "wait at most `DURATION` for a worker", Value: 30 * time.Second}),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			chosen, err := c.awaitHandlers(ctx, client)
			if err != nil {
				return err
			}
			document, err := imported(chosen)
			if err != nil {
				return err
			}
			if ui.WantsJSON(ctx) {
				var plain any
				if err := document.Decode(&plain); err != nil {
					return err
				}
				return c.Answer(ctx, plain)
			}
			encoder := yaml.NewEncoder(c.Env.Stdout)
			encoder.SetIndent(2)
			return errors.Join(encoder.Encode(document), encoder.Close())
		}),
	}
}

// importPoll is the interval at which import looks for workers.
const importPoll = time.Second

// awaitHandlers waits until the registry lists the handlers to import, at most for --timeout.
func (c *commands) awaitHandlers(ctx *cli.Context, client *starter.Client) ([]jobtype.Descriptor, error) {
	limit, names := ctx.Duration(ui.FlagTimeout), ctx.Args().Slice()
	waiting, cancel := context.WithTimeout(ctx.Context, limit)
	defer cancel()
	ticker := time.NewTicker(importPoll)
	defer ticker.Stop()
	var last error
	for {
		known, err := client.Workers().Handlers(waiting)
		var chosen []jobtype.Descriptor
		if err == nil {
			chosen, err = choose(known, names)
		}
		if err == nil || slices.ContainsFunc(known, isForeign) {
			return chosen, err // Waiting does not repair a wrong name.
		}
		if last == nil {
			c.Complain("waiting up to %s for a worker to connect: %s", limit, ui.OneLine(err.Error()))
		}
		if last == nil || waiting.Err() == nil {
			last = err
		}
		select {
		case <-ticker.C:
		case <-waiting.Done():
			return nil, fmt.Errorf("no worker connected within %s: %w", limit, last)
		}
	}
}

func isForeign(d jobtype.Descriptor) bool {
	_, foreign := translate.HintsOf(d)
	return foreign
}

// choose returns the handlers named, or those of weed workers.
func choose(known []jobtype.Descriptor, names []string) ([]jobtype.Descriptor, error) {
	var chosen []jobtype.Descriptor
	for _, descriptor := range known {
		if len(names) == 0 && isForeign(descriptor) || slices.Contains(names, descriptor.Name) {
			chosen = append(chosen, descriptor)
		}
	}
	for _, name := range names {
		if !ui.Describes(chosen, name) {
			return nil, ui.Usagef("no worker has the handler %s: see roundsman workers", name)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no weed worker is connected: start roundsman gateway seaweedfs, then weed worker -admin=HOST:PORT")
	}
	slices.SortFunc(chosen, func(a, b jobtype.Descriptor) int { return strings.Compare(a.Name, b.Name) })
	return chosen, nil
}

func imported(handlers []jobtype.Descriptor) (*yaml.Node, error) {
	types := mapping()
	for _, descriptor := range handlers {
		one, name, err := importedType(descriptor)
		if err != nil {
			return nil, fmt.Errorf("handler %s: %w", descriptor.Name, err)
		}
		put(types, name, one)
	}
	root, cluster := mapping(), mapping()
	put(root, "version", scalar(1))
	for _, list := range []struct{ key, help string }{
		{"masters", "host:port of each master"}, {"filers", "for admin_script, iceberg_maintenance and s3_lifecycle"}, {"s3", "for s3_lifecycle"},
	} {
		put(cluster, list.key, scalar([]string{})).HeadComment = list.help
	}
	put(root, "cluster", cluster).HeadComment = "Addresses of HTTP, or host:port.grpcport"
	if slices.ContainsFunc(handlers, changesVolumes) {
		lanes := mapping()
		put(lanes, weedLane, mapping())
		put(root, "lanes", lanes).HeadComment = "One of the job types that change volumes at a time, alphabetically, as weed admin has it"
	}
	put(root, "job_types", types)
	return root, nil
}

// weedLane is the lane of the job types that `weed admin` runs one at a time.
const weedLane = "seaweedfs"

// changesVolumes reports whether `weed admin` runs the handler one at a time.
func changesVolumes(d jobtype.Descriptor) bool {
	hints, foreign := translate.HintsOf(d)
	return foreign && translate.Mutates(hints.JobType)
}

func importedType(d jobtype.Descriptor) (one *yaml.Node, name string, err error) {
	hints, foreign := translate.HintsOf(d)
	name = d.Name
	one = mapping()
	put(one, "handler", scalar(d.Name))
	if help := translate.OneLine(d.Help, 200); help != "" {
		put(one, "description", scalar(help))
	}
	if foreign {
		name = strings.ReplaceAll(strings.ToLower(hints.JobType), ".", "_")
		put(one, "enabled", scalar(hints.Enabled))
		if changesVolumes(d) {
			put(one, "lane", scalar(weedLane))
		}
		every := mapping()
		every.Style = yaml.FlowStyle
		put(every, "every", scalar(hints.Every.String()))
		put(one, "schedule", every)
	}
	policy, err := policyNode(d.DefaultPolicy)
	if err != nil {
		return nil, "", err
	}
	if len(policy.Content) > 0 {
		put(one, "policy", policy)
	}
	var schema formSchema
	if len(d.Params) > 0 {
		if err := json.Unmarshal(d.Params, &schema); err != nil {
			return nil, "", err
		}
	}
	if params := schema.defaults(); params != nil {
		put(one, "params", params)
	}
	return one, name, nil
}

func policyNode(policy jobtype.Policy) (*yaml.Node, error) {
	encoded, err := json.Marshal(policy)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(encoded, &document); err != nil {
		return nil, err
	}
	node := document.Content[0]
	node.Style = 0
	for _, each := range node.Content {
		each.Style = 0
	}
	return node, nil
}

type formSchema struct {
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Default     json.RawMessage            `json:"default"`
	Hidden      bool                       `json:"x-hidden"`
	ReadOnly    bool                       `json:"readOnly"`
	Minimum     *float64                   `json:"minimum"`
	Maximum     *float64                   `json:"maximum"`
	Enum        []any                      `json:"enum"`
	Unit        string                     `json:"x-unit"`
	Properties  map[string]json.RawMessage `json:"properties"`
	AllOf       []struct {
		Else struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"else"`
	} `json:"allOf"`
}

// defaults omits read-only settings and those that depend on another setting.
func (s formSchema) defaults() *yaml.Node {
	conditional := map[string]bool{}
	for _, rule := range s.AllOf {
		for name := range rule.Else.Properties {
			conditional[name] = true
		}
	}
	node := mapping()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var field formSchema
		if json.Unmarshal(s.Properties[name], &field) != nil || field.Hidden || field.ReadOnly || conditional[name] {
			continue
		}
		value := field.defaults()
		if value == nil && len(field.Default) > 0 {
			value = literal(field.Default)
		}
		if value != nil {
			put(node, name, value).HeadComment = field.comment(name)
		}
	}
	if len(node.Content) == 0 {
		return nil
	}
	return node
}

func (s formSchema) comment(name string) string {
	var parts []string
	if s.Title != "" && s.Title != name {
		parts = append(parts, s.Title)
	}
	if s.Description != "" {
		parts = append(parts, s.Description)
	}
	if s.Unit != "" {
		parts = append(parts, "in "+s.Unit)
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		parts = append(parts, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		parts = append(parts, fmt.Sprintf("at least %v", *s.Minimum))
	case s.Maximum != nil:
		parts = append(parts, fmt.Sprintf("at most %v", *s.Maximum))
	}
	if len(s.Enum) > 0 {
		parts = append(parts, fmt.Sprintf("one of %v", s.Enum))
	}
	return translate.OneLine(strings.Join(parts, "; "), 200)
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// put adds a key and returns it, for a comment.
func put(node *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	name := scalar(key)
	node.Content = append(node.Content, name, value)
	return name
}

func scalar(value any) *yaml.Node {
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
	}
	return &node
}

// literal is a JSON value; a whole number stays one.
func literal(encoded json.RawMessage) *yaml.Node {
	var document yaml.Node
	if yaml.Unmarshal(bytes.TrimSpace(encoded), &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}
