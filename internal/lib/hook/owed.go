package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

const (
	owedSuffix = ".hooks.json"
	newSuffix  = ".new"
)

// Owed are the closing hooks of an attempt that have not ended. Its file survives the process and the machine.
type Owed struct {
	// Job, Key and Attempt are those of the owner of the program.
	Job     string `json:"job,omitempty"`
	Key     string `json:"key,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Launch has the secrets as references. Own are the variables of Roundsman.
	Launch  launch.Spec   `json:"launch"`
	Own     []string      `json:"own,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Pending []launch.Hook `json:"pending"`

	path string
}

// Open gives the hooks a file in dir, unless dir is empty.
func (o *Owed) Open(dir, name string) error {
	if dir == "" || len(o.Pending) == 0 {
		return nil
	}
	o.path = filepath.Join(dir, name+owedSuffix)
	return o.save()
}

// File is the path of the file; empty: there is none.
func (o *Owed) File() string { return o.path }

// Settle notes the outcome. Without a failure it drops the hook on_failure.
func (o *Owed) Settle(outcome Outcome) error {
	o.Outcome = outcome
	if !outcome.Failed() && len(o.Pending) > 0 && o.Pending[0].Name == launch.HookOnFailure {
		o.Pending = o.Pending[1:]
	}
	return o.save()
}

// Next returns the next hook; nil at the end.
func (o *Owed) Next() *launch.Hook {
	if len(o.Pending) == 0 {
		return nil
	}
	return &o.Pending[0]
}

// Done removes the hook that Next has returned.
func (o *Owed) Done() error {
	o.Pending = o.Pending[1:]
	return o.save()
}

func (o *Owed) save() error {
	if o.path == "" {
		return nil
	}
	if len(o.Pending) == 0 {
		return errors.Join(os.Remove(o.path), syncNames(filepath.Dir(o.path)))
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(o.path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(encoded)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err = os.Rename(o.path+newSuffix, o.path); err != nil {
		return err
	}
	return syncNames(filepath.Dir(o.path))
}

// syncNames makes the names in dir durable.
func syncNames(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// Read returns the hooks that earlier processes owe. An incomplete file is removed. An unreadable one stays for the
// next process.
func Read(dir string) ([]*Owed, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []*Owed
	var unread []error
	for _, entry := range entries {
		o := &Owed{path: filepath.Join(dir, entry.Name())}
		if strings.HasSuffix(o.path, owedSuffix+newSuffix) {
			_ = os.Remove(o.path)
		}
		if !strings.HasSuffix(o.path, owedSuffix) {
			continue
		}
		encoded, err := os.ReadFile(o.path)
		switch {
		case err != nil:
			unread = append(unread, fmt.Errorf("hooks that are owed stay until the next start of the worker: %w", err))
		case json.Unmarshal(encoded, o) != nil:
			_ = os.Remove(o.path)
		default:
			list = append(list, o)
		}
	}
	return list, errors.Join(unread...)
}
