package spec

import "github.com/roundsman/roundsman/internal/lib/yamlread"

// lists also accepts a JSON list, the form of added tasks.
func parseDocument(c *collector, data []byte, lists bool) *yamlread.Node {
	root, faults := yamlread.Read(c.file, data, documentOptions(lists))
	for _, f := range faults {
		if f.Path != "" {
			f.Message = f.Path + ": " + f.Message
		}
		c.add(Fault{File: c.file, Line: f.Line, Column: f.Column, Message: f.Message})
	}
	return root
}

func documentOptions(lists bool) yamlread.Options {
	return yamlread.Options{
		Bytes: MaxFileSize, JSON: true, Lists: lists, MergeKeys: true,
		TooLarge: "split it into sub-DAGs or use for_each", Empty: "a spec needs at least version, name and tasks",
	}
}
