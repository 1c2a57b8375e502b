package inforce

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

type document struct {
	Version   int              `json:"version"`
	Owner     string           `json:"owner,omitempty"`
	Lanes     map[string]lane  `json:"lanes,omitempty"`
	Resources map[string]int   `json:"resources,omitempty"`
	Cluster   json.RawMessage  `json:"cluster,omitempty"`
	JobTypes  map[string]entry `json:"job_types,omitempty"`
}

type lane struct {
	Exclusive *bool              `json:"exclusive,omitempty"`
	Windows   []jobtype.Window   `json:"windows,omitempty"`
	Blackouts []jobtype.Blackout `json:"blackouts,omitempty"`
}

// Document is a configuration with the files that it names.
type Document struct {
	Text  string
	Files map[string]string
}

// Of writes the job types of one owner as a configuration. disabled lists the ones with enabled: false.
func Of(owner string, specs []contract.JobTypeSpec, disabled map[string]bool, known []jobtype.Descriptor) (Document, error) {
	d := around(owner, specs)
	d.JobTypes = map[string]entry{}
	files := map[string]string{}
	for _, spec := range specs {
		written, own := entryOf(spec, known)
		if disabled[spec.Name] {
			written.Enabled = new(bool)
		}
		maps.Copy(files, own)
		d.JobTypes[spec.Name] = written
	}
	text, err := d.yaml()
	return Document{text, files}, err
}

// Around writes the shared sections of one owner, and the job types in the after rules of name. With a file of name
// alone it is a whole configuration.
func Around(owner, name string, specs []contract.JobTypeSpec, known []jobtype.Descriptor) (Document, error) {
	d, files := around(owner, specs), map[string]string{}
	d.JobTypes = map[string]entry{}
	for _, spec := range awaited(name, specs) {
		written, own := entryOf(spec, known)
		maps.Copy(files, own)
		d.JobTypes[spec.Name] = written
	}
	text, err := d.yaml()
	return Document{text, files}, err
}

func around(owner string, specs []contract.JobTypeSpec) document {
	d := document{Version: config.Version, Owner: owner, Lanes: map[string]lane{}, Resources: map[string]int{}}
	for _, spec := range specs {
		maps.Copy(d.Resources, spec.Resources)
		if len(spec.Cluster) > 0 {
			d.Cluster = spec.Cluster
		}
		if spec.Lane == "" {
			continue
		}
		var declared lane
		if spec.LaneShared {
			declared.Exclusive = new(bool)
		}
		if calendar := spec.LaneCalendar; calendar != nil {
			declared.Windows, declared.Blackouts = calendar.Windows, calendar.Blackouts
		}
		d.Lanes[spec.Lane] = declared
	}
	return d
}

func (d document) yaml() (string, error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("write the configuration in force: %w", err)
	}
	text, err := config.YAML(encoded)
	return string(text), err
}

// One writes a single entry as a configuration.
func One(name string, entry json.RawMessage) (string, error) {
	encoded, err := json.Marshal(struct {
		Version  int                        `json:"version"`
		JobTypes map[string]json.RawMessage `json:"job_types"`
	}{config.Version, map[string]json.RawMessage{name: entry}})
	if err != nil {
		return "", fmt.Errorf("write job type %s: %w", name, err)
	}
	text, err := config.YAML(encoded)
	return string(text), err
}

// awaited returns the job types before one in `after`, directly or not, without itself.
func awaited(name string, all []contract.JobTypeSpec) []contract.JobTypeSpec {
	known := map[string]contract.JobTypeSpec{}
	for _, spec := range all {
		known[spec.Name] = spec
	}
	wanted, queue := map[string]bool{}, []string{name}
	for ; len(queue) > 0; queue = queue[1:] {
		for other := range known[queue[0]].After {
			if !wanted[other] {
				wanted[other], queue = true, append(queue, other)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(spec contract.JobTypeSpec) bool { return !wanted[spec.Name] || spec.Name == name })
}
