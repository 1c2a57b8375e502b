package api

import "strconv"

func formatSeq(seq int64) string { return strconv.FormatInt(seq, 10) }

func parseSeq(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
