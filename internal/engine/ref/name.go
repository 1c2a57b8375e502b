package ref

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// ValidateJobType checks a name, which must not read as another reference, or as an old subcommand.
func ValidateJobType(name string) error {
	if slices.Contains(Kinds(), Kind(name)) || name == "list" || name == "show" {
		return fmt.Errorf("name %q means something else in a reference or on the command line: choose another name", name)
	}
	return contract.ValidateJobTypeName(name) //nolint:wrapcheck // it is complete
}
