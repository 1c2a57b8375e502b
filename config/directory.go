package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Hidden files and folders below a directory do not count, so DAG files can lie in one.
func (r *reader) expand(files []string) []string {
	var expanded []string
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.IsDir() {
			expanded = append(expanded, file)
			continue
		}
		r.rank[file] = len(r.rank)
		entries, err := os.ReadDir(file)
		if err != nil {
			r.faults = append(r.faults, Fault{File: file, Message: "cannot be read: " + err.Error()})
			continue
		}
		before := len(expanded)
		for _, entry := range entries {
			if name := entry.Name(); !entry.IsDir() && isConfigurationName(name) {
				expanded = append(expanded, filepath.Join(file, name))
			}
		}
		if len(expanded) == before {
			r.faults = append(r.faults, Fault{File: file, Message: "the directory has no file *.yaml or *.yml: add one, or name another directory with --config"})
		}
	}
	return expanded
}

func isConfigurationName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))
}
