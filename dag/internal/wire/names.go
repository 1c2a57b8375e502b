package wire

import "fmt"

// NameOf returns the name of number n of a kind.
func NameOf(names []string, n int, kind string) string {
	if n >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}

// MarshalName is NameOf for an encoding; a number without a name is an error.
func MarshalName(names []string, n int, kind string) ([]byte, error) {
	if n >= len(names) {
		return nil, fmt.Errorf("dag: %d is not a %s", n, kind)
	}
	return []byte(names[n]), nil
}

// ParseName is the inverse of MarshalName.
func ParseName(names []string, text, kind string) (int, error) {
	for n, name := range names {
		if name == text {
			return n, nil
		}
	}
	return 0, fmt.Errorf("dag: %q is not a %s; use one of %q", text, kind, names)
}
