// Package names gives small numbers names.
package names

import "fmt"

// Of is the name of number n, which is of a kind.
func Of(names []string, n int, kind string) string {
	if n >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}

// Marshal is Of for what travels.
func Marshal(names []string, n int, kind string) ([]byte, error) {
	if n >= len(names) {
		return nil, fmt.Errorf("dag: %d is not a %s", n, kind)
	}
	return []byte(names[n]), nil
}

// Parse is the inverse of Marshal.
func Parse(names []string, text, kind string) (int, error) {
	for n, name := range names {
		if name == text {
			return n, nil
		}
	}
	return 0, fmt.Errorf("dag: %q is not a %s; use one of %q", text, kind, names)
}
