// Package problem describes a failed request as in RFC 9457: with a code, a remedy, whether a repetition can succeed,
// and the location of every fault in the request.
package problem
