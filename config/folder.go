package config

import "github.com/roundsman/roundsman/internal/lib/folder"

// noFiles is the fault of a setting that names a file in a source without files.
const noFiles = "files cannot be read here: validate and apply the configuration where the file is, or send the file with it"

// folderOf returns the folder of a source; nil if it may name no files.
func folderOf(source Source) folder.Folder {
	switch {
	case source.Files != nil:
		return folder.Sent(source.Files)
	case source.Dir != "":
		return folder.On(source.Dir)
	}
	return nil
}
