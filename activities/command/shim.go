package command

import (
	"reflect"

	"github.com/roundsman/roundsman/activities/command/shim"
)

// ShimArgument is the first argument of a process that is a shim. Any program that links this package is one if it
// gets the argument.
const ShimArgument = shim.Argument

func (p program) setup() *shim.Setup {
	var s shim.Setup
	if p.account != nil && !p.account.isOwn() {
		s.Switch, s.UID, s.GID, s.Groups = true, p.account.UID, p.account.GID, p.account.Groups
	}
	if p.launch.Umask != "" {
		mask, _ := p.launch.ParseUmask() // validated
		s.Umask = &mask
	}
	if p.launch.IONice != "" {
		class, level, _ := p.launch.ParseIONice() // validated
		s.IOClass, s.IOLevel = int(class), level
	}
	s.Nice, s.Limits = p.launch.Nice, p.cgroups.Rest(p.launch.Limits)
	if reflect.ValueOf(s).IsZero() {
		return nil
	}
	return &s
}
