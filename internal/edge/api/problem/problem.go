package problem

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// ContentType of a problem.
const ContentType = "application/problem+json"

// Problem is the body of every answer that is no success.
type Problem struct {
	Title  string `json:"title" doc:"The status in words"`
	Status int    `json:"status" doc:"The HTTP status code"`
	Code   string `json:"code" doc:"What to branch on; docs/api.md lists the codes"`
	Detail string `json:"detail" doc:"What happened"`
	Remedy string `json:"remedy,omitempty" doc:"What to do about it"`
	// Retryable: the same request may succeed later.
	Retryable bool    `json:"retryable" doc:"The same request may succeed later"`
	Errors    []Fault `json:"errors,omitempty" doc:"Every fault of what was sent"`
	// Unreachable: no request can succeed now.
	Unreachable bool `json:"unreachable,omitempty" doc:"The Temporal server, the control plane or the worker registry does not answer any request"`
	// Holder has the id that a worker could not register.
	Holder *contract.RegisteredOther `json:"holder,omitempty" doc:"The process that has the worker's id"`
	// Delivered: the outcome of a lost lease was told to the run.
	Delivered bool `json:"delivered,omitempty" doc:"The lease is lost, and the run was told the outcome: it counts if the job was not done"`
	// RetryAfter is when a repeat makes sense; 0: it is not known.
	RetryAfter time.Duration `json:"-"`
}

// GetHeaders adds Retry-After.
func (p *Problem) GetHeaders() http.Header {
	header := http.Header{}
	if p.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	return header
}

// Fault is one fault of what was sent.
type Fault struct {
	Message string `json:"message"`
	// Location is a path in the request or in the file.
	Location string `json:"location,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
}

// Codes that belong to no error of package starter.
const (
	CodeInvalid         = "INVALID"
	CodeUnauthenticated = "UNAUTHENTICATED"
	CodeAccessDenied    = "ACCESS_DENIED"
	CodeForeignHost     = "FOREIGN_HOST"
	CodeForeignOrigin   = "FOREIGN_ORIGIN"
	CodeNotFound        = "NOT_FOUND"
	CodeMethod          = "METHOD_NOT_ALLOWED"
	CodeMediaType       = "UNSUPPORTED_MEDIA_TYPE"
	CodeTooLarge        = "TOO_LARGE"
	CodeChanged         = "CHANGED"
	CodeConflict        = "CONFLICT"
	CodeRateLimited     = "RATE_LIMITED"
	CodeTooManyStreams  = "TOO_MANY_STREAMS"
	CodeInternal        = "INTERNAL"
	CodeUnavailable     = "UNAVAILABLE"
	CodeTimeout         = "TIMEOUT"
)

// Codes of a server, or a part of the control plane, that does not answer. CONTROL_PLANE_DOWN is another.
const (
	CodeServerUnreachable = "SERVER_UNREACHABLE"
	codeRegistryGone      = "REGISTRY_GONE"
)

// codes are those of a status for which nothing more is known.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return CodeUnauthenticated
	case http.StatusForbidden:
		return CodeAccessDenied
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusMethodNotAllowed:
		return CodeMethod
	case http.StatusUnsupportedMediaType, http.StatusNotAcceptable:
		return CodeMediaType
	case http.StatusRequestEntityTooLarge:
		return CodeTooLarge
	case http.StatusPreconditionFailed:
		return CodeChanged
	case http.StatusConflict:
		return CodeConflict
	case http.StatusTooManyRequests:
		return CodeRateLimited
	case http.StatusServiceUnavailable:
		return CodeUnavailable
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return CodeTimeout
	}
	if status >= http.StatusInternalServerError {
		return CodeInternal
	}
	return CodeInvalid
}

// New is a problem with a status. An empty code is the status's own.
func New(status int, code, detail string) *Problem {
	return &Problem{
		Title: http.StatusText(status), Status: status, Code: cmp.Or(code, codeOf(status)), Detail: detail,
		Retryable:   status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests || status == http.StatusGatewayTimeout,
		Unreachable: code == CodeServerUnreachable || code == codeRegistryGone || code == string(contract.CodeControlPlaneDown),
	}
}

// Newf is New with a formatted detail.
func Newf(status int, code, format string, args ...any) *Problem {
	return New(status, code, fmt.Sprintf(format, args...))
}

// With gives the problem a remedy.
func (p *Problem) With(remedy string) *Problem {
	p.Remedy = remedy
	return p
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus is how the operations learn the status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType replaces that of an ordinary answer.
func (p *Problem) ContentType(string) string { return ContentType }

// split divides a text for people into what happened and what to do: the house
// writes "this happened; do that".
func split(text string) (detail, remedy string) {
	detail, remedy, _ = strings.Cut(text, "; ")
	return detail, remedy
}
