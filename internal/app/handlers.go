package app

import (
	"fmt"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/activities/scrub"
	"github.com/roundsman/roundsman/activities/seaweedfs"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// Handlers returns the built-in handlers and own. Two of one name are an error. shim is the command line of this
// binary as a shim, see [command.Options].
func Handlers(dataDir string, shim []string, own []jobtype.Handler) ([]jobtype.Handler, error) {
	all := append(builtin(dataDir, shim), own...)
	seen := map[string]bool{}
	for i, handler := range all {
		if handler == nil {
			return nil, fmt.Errorf("handler %d of roundsman.Main is nil", i-len(all)+len(own)+1)
		}
		name := handler.Descriptor().Name
		if err := jobtype.ValidateName(name); err != nil {
			return nil, fmt.Errorf("a handler of roundsman.Main: %w", err)
		}
		if seen[name] {
			return nil, fmt.Errorf("two handlers are named %s: rename the one given to roundsman.Main", name)
		}
		seen[name] = true
	}
	return all, nil
}

// All workers of the process share the handlers: scrub has one open baseline, those for SeaweedFS one lease.
func builtin(dataDir string, shim []string) []jobtype.Handler {
	handlers := []jobtype.Handler{
		command.New(command.Options{Shim: shim}),
		scrub.New(scrub.Options{DataDir: dataDir}),
	}
	return append(handlers, seaweedfs.New(seaweedfs.NewConnections(weed.KeeperOptions{}), command.NewRunner(command.Options{Shim: shim}))...)
}

// Descriptors returns the descriptors with which [config.Load] validates a configuration.
func Descriptors(own []jobtype.Handler) ([]jobtype.Descriptor, map[string]jobtype.SettingsValidator, error) {
	all, err := Handlers("", nil, own)
	if err != nil {
		return nil, nil, err
	}
	descriptors, validators := make([]jobtype.Descriptor, len(all)), gateway.Validators()
	for i, handler := range all {
		descriptors[i] = handler.Descriptor()
		if validator, ok := handler.(jobtype.SettingsValidator); ok {
			validators[descriptors[i].Name] = validator
		}
	}
	return descriptors, validators, nil
}

// OwnShim returns the command line of this binary as a shim.
func OwnShim() []string { return []string{"/proc/self/exe", command.ShimArgument} }
