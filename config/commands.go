package config

import (
	"github.com/roundsman/roundsman/internal/lib/commandlint"
)

// commandOddities warns of literal secrets and of commands that are probably not meant.
func (l *loader) commandOddities(e entry) {
	for _, key := range []string{"params", "detect", "execute"} {
		block, path := e.node.Get(key), e.path+"."+key
		l.found(commandlint.Values(block, path))
		if key != "params" {
			l.found(commandlint.Command(block.Get("command"), path+".command"))
			l.found(commandlint.Around(block, path+"."))
			l.found(commandlint.Script(block.Get("shell"), path+".shell"))
		}
	}
}

func (r *reader) found(findings []commandlint.Located) {
	for _, f := range findings {
		r.warn(f.Place, f.Path, "%s", f.Message())
	}
}
