package dagrun

import "github.com/roundsman/roundsman/jobtype"

// canceledHere is the reason of a task that this run cancels.
const canceledHere = "canceled"

// maxMessage bounds the kept message of a failure.
const maxMessage = 512

func clip(message string) string { return jobtype.ClipCause(message, maxMessage) }
