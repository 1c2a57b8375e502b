package action

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

func (d definition) line(args Args) string {
	words := []string{d.command}
	for _, p := range d.params {
		value, given := args[p.name]
		switch {
		case p.silent || p.word == "" || d.joined(p, args) || args[p.unless] != "":
			continue
		case given:
			value = d.spelled(p, quoted(value), args)
		case p.optional:
			continue
		default:
			value = d.spelled(p, p.word, args)
		}
		switch {
		case p.kind == Checkbox:
			words = append(words, p.flag)
		case p.flag != "":
			words = append(words, p.flag, value)
		default:
			words = append(words, value)
		}
	}
	for _, name := range d.settingsOf(args) {
		words = append(words, quoted(name+"="+args[name]))
	}
	return strings.Join(words, " ")
}

func (d definition) settingsOf(args Args) []string {
	if !d.settings {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(args)), func(name string) bool { return d.param(name).name != "" })
}

func (d definition) joined(p param, args Args) bool {
	return slices.ContainsFunc(d.params, func(q param) bool { return q.optional && q.after == p.name && args[q.name] != "" })
}

// spelled returns the word of an argument: a setting has its name before the value, an item its run.
func (d definition) spelled(p param, value string, args Args) string {
	if p.after == "" {
		return p.lead + value
	}
	before := args[p.after]
	if before == "" {
		before = d.param(p.after).word
	}
	return before + p.joint + value
}

func (d definition) param(name string) param {
	for _, p := range d.params {
		if p.name == name {
			return p
		}
	}
	return param{}
}

func (d definition) request(args Args) *Request {
	if d.method == "" {
		return nil
	}
	r := &Request{Method: d.method, Path: d.path}
	for _, p := range d.params {
		value, given := args[p.name]
		if !given {
			continue
		}
		if strings.Contains(r.Path, "{"+p.name+"}") {
			if p.run {
				value = contract.RunKey(value)
			}
			if p.item {
				value = strings.ReplaceAll(value, "/", "~")
			}
			r.Path = strings.ReplaceAll(r.Path, "{"+p.name+"}", segment(value))
			continue
		}
		if p.query {
			r.Path += "?" + p.name + "=" + segment(value)
		}
		if field := d.field(p, args); field != "" {
			r.put(field, typed(p.kind, value))
		}
	}
	for _, name := range d.settingsOf(args) {
		r.put(name, settingOf(args[name]))
	}
	return r
}

func (r *Request) put(field string, value any) {
	if r.Body == nil {
		r.Body = map[string]any{}
	}
	r.Body[field] = value
}

func settingOf(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch text {
	case "true", "false":
		return text == "true"
	}
	return text
}

// field returns the field of the request's body; empty: the argument is not in the body.
func (d definition) field(p param, args Args) string {
	if p.setting {
		return args[p.after]
	}
	return p.body
}

func typed(kind Kind, value string) any {
	switch kind {
	case Number:
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	case Checkbox:
		return value == "true"
	case Text:
	}
	return value
}

func (d definition) inputs(args Args) []Input {
	var list []Input
	for _, p := range d.params {
		if _, given := args[p.name]; given || p.hidden || args[p.unless] != "" {
			continue
		}
		in := Input{Name: p.name, Kind: p.kind, Label: p.label, Required: !p.optional, Body: d.field(p, args)}
		if p.optional {
			in.Flag = p.flag
		} else {
			in.Word = p.word
		}
		list = append(list, in)
	}
	return list
}

func segment(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c == '~' || plain(rune(c)) && c != '%' && c != '/' && c != '+' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Line returns a command line that a shell divides into these words.
func Line(words []string) string {
	return strings.Join(lists.Map(words, quoted), " ")
}

func quoted(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
}
