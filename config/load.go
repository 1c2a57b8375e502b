package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/folder"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Source is a configuration file already in memory.
type Source struct {
	// Name is the file name in faults.
	Name string
	Data []byte
	// Dir is the folder of its DAG files. Empty forbids them, for a source from a network.
	Dir string
	// Files are its DAG files and lists of holidays in memory, by their paths. They replace Dir.
	Files map[string]string
}

// Options select the files and the handlers to check against.
type Options struct {
	// Files are merged in order, then Sources. A key in two of them is a fault.
	Files   []string
	Sources []Source
	// Environ is the process environment as from os.Environ. TEMPORAL_* variables override the files.
	Environ []string
	// Connection settings that the files override, for example from a TOML profile of the Temporal CLI.
	Temporal Temporal
	Handlers []jobtype.Descriptor
	// Validators check the settings of a handler beyond its schemas. A message that begins with a path, such as
	// "execute.command[1]: …", is reported at that line.
	Validators map[string]jobtype.SettingsValidator
	// AllowUnregistered makes unknown handlers warnings. Their params stay unchecked.
	AllowUnregistered bool
	// WithoutJobTypes skips job_types, whose faults then do not matter.
	WithoutJobTypes bool
	// OnlyTemporal reads only the section temporal. An unknown section is still a fault.
	OnlyTemporal bool
}

// Load reads, completes and checks a configuration. Its error is [Faults] with all faults.
func Load(options Options) (*Config, error) {
	l := newLoader(options)
	root := l.read()
	var loaded *Config
	if root != nil {
		loaded = l.config(root)
	}
	if len(l.faults) > 0 {
		return nil, l.faults.sorted(l.rank).shortened()
	}
	loaded.Warnings = l.warnings.sorted(l.rank)
	return loaded, nil
}

type loader struct {
	*reader
	timetable
	options  Options
	handlers map[string]handler
	names    []string
}

type reader struct {
	rank    map[string]int
	folders map[string]folder.Folder
	// spelled has the written paths of settings by the path of their setting; see [loader.spell].
	spelled  map[string]string
	faults   Faults
	warnings Faults
}

type timetable struct {
	*reader
	steps int
	years map[string][]window.Span
	spans int
}

func newLoader(options Options) *loader {
	r := &reader{rank: map[string]int{}, spelled: map[string]string{}, folders: map[string]folder.Folder{}}
	l := &loader{reader: r, timetable: timetable{reader: r, years: map[string][]window.Span{}}, options: options, handlers: map[string]handler{}}
	for _, descriptor := range options.Handlers {
		l.handlers[descriptor.Name] = newHandler(descriptor, options.Validators[descriptor.Name])
		l.names = append(l.names, descriptor.Name)
	}
	return l
}

func (l *loader) read() *yamlread.Node {
	sources := make([]Source, 0, len(l.options.Files)+len(l.options.Sources))
	for _, file := range l.expand(l.options.Files) {
		l.rank[file] = len(l.rank)
		data, err := readFile(file)
		if err != nil {
			l.faults = append(l.faults, Fault{File: file, Message: err.Error()})
			continue
		}
		sources = append(sources, Source{Name: file, Data: data, Dir: filepath.Dir(file)})
	}
	sources = append(sources, l.options.Sources...)
	if len(sources) == 0 && len(l.faults) == 0 {
		l.faults = append(l.faults, Fault{File: NoFile, Message: "no file was given: name one with --config"})
	}
	var root *yamlread.Node
	for _, source := range sources {
		l.folders[source.Name] = folderOf(source)
		if _, known := l.rank[source.Name]; !known {
			l.rank[source.Name] = len(l.rank)
		}
		tree, faults := parse(source.Name, source.Data)
		l.faults = append(l.faults, faults...)
		if tree != nil && !l.noDAG(tree) {
			continue
		}
		root = l.merge(root, l.withDefaults(tree))
	}
	return root
}

// readFile reads at most one byte over the limit from any kind of file.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return nil, fmt.Errorf("cannot be opened: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return data, nil
}

// Only version may repeat.
func (r *reader) merge(root, tree *yamlread.Node) *yamlread.Node {
	if root == nil || tree == nil {
		if root == nil {
			return tree
		}
		return root
	}
	for _, section := range tree.Fields {
		existing := root.Field(section.Key)
		switch {
		case existing == nil:
			root.Add(section)
		case section.Key == "version":
			r.sameVersion(existing.Value, section.Value)
		case section.Key == "cluster", existing.Value.Kind != yamlread.Object, section.Value.Kind != yamlread.Object:
			r.fault(section.At, section.Key, "the section is already written at %s", existing.At)
		default:
			r.mergeSection(section.Key, existing.Value, section.Value)
		}
	}
	return root
}

func (r *reader) sameVersion(first, second *yamlread.Node) {
	if first.Kind != second.Kind || first.Literal != second.Literal {
		r.fault(second.Place(), "version", "differs from the version at %s", first.Place())
	}
}

func (r *reader) mergeSection(section string, into, from *yamlread.Node) {
	for _, entry := range from.Fields {
		if existing := into.Field(entry.Key); existing != nil {
			r.fault(entry.At, join(section, entry.Key), "is already written at %s", existing.At)
			continue
		}
		into.Add(entry)
	}
}

func (r *reader) fault(at yamlread.Place, path, format string, args ...any) {
	if written, ok := r.spelled[path]; ok {
		path = written
	}
	r.faults = append(r.faults, faultAt(at, path, fmt.Sprintf(format, args...)))
}

func (r *reader) warn(at yamlread.Place, path, format string, args ...any) {
	r.warnings = append(r.warnings, faultAt(at, path, fmt.Sprintf(format, args...)))
}
