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

// ContentType is the media type of problems.
const ContentType = "application/problem+json"

// Problem is the body of every unsuccessful answer.
type Problem struct {
	Title     string  `json:"title" doc:"The status in words"`
	Status    int     `json:"status" doc:"The HTTP status code"`
	Code      string  `json:"code" doc:"Code for programs; docs/api.md lists the codes"`
	Detail    string  `json:"detail" doc:"Description of the failure"`
	Remedy    string  `json:"remedy,omitempty" doc:"Remedy"`
	Retryable bool    `json:"retryable" doc:"The same request may succeed later"`
	Errors    []Fault `json:"errors,omitempty" doc:"Every fault of the request"`
	// Unreachable means that no request can succeed now.
	Unreachable bool `json:"unreachable,omitempty" doc:"The Temporal server, the control plane or the worker registry does not answer any request"`
	// Holder is the process that has the id of a worker that could not register.
	Holder *contract.RegisteredOther `json:"holder,omitempty" doc:"The process that has the worker's id"`
	// Delivered means that the run has received the outcome of a lost lease.
	Delivered bool `json:"delivered,omitempty" doc:"The lease is lost, and the run has received the outcome: it counts if the job was not done"`
	// RetryAfter is the delay before a repetition; 0 if unknown.
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

// Fault is one fault in a request.
type Fault struct {
	Message string `json:"message"`
	// Location is a path in the request or in the file.
	Location string `json:"location,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
}

// Codes without an error in package starter.
const (
	CodeInvalid         = string(contract.CodeInvalid)
	CodeUnauthenticated = "UNAUTHENTICATED"
	CodeAccessDenied    = contract.CodeAccessDenied
	CodeForeignHost     = "FOREIGN_HOST"
	CodeForeignOrigin   = "FOREIGN_ORIGIN"
	CodeNotFound        = "NOT_FOUND"
	CodeMethod          = "METHOD_NOT_ALLOWED"
	CodeMediaType       = "UNSUPPORTED_MEDIA_TYPE"
	CodeTooLarge        = string(contract.CodeTooLarge)
	CodeChanged         = "CHANGED"
	CodeConflict        = "CONFLICT"
	CodeRateLimited     = "RATE_LIMITED"
	CodeTooManyStreams  = "TOO_MANY_STREAMS"
	CodeInternal        = "INTERNAL"
	CodeUnavailable     = string(contract.CodeUnavailable)
	CodeTimeout         = "TIMEOUT"
	CodeRefused         = string(contract.CodeRefused)
	CodeBadCursor       = "BAD_CURSOR"
)

// Codes of a server or control plane that does not answer. CONTROL_PLANE_DOWN is another.
const (
	CodeServerUnreachable = "SERVER_UNREACHABLE"
	codeRegistryGone      = "REGISTRY_GONE"
)

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

// New returns a problem. An empty code means the status's default.
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

// With sets the remedy.
func (p *Problem) With(remedy string) *Problem {
	p.Remedy = remedy
	return p
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus returns the status for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType replaces the type of an ordinary answer.
func (p *Problem) ContentType(string) string { return ContentType }

// split separates detail and remedy of a text in the house's form "cause; remedy".
func split(text string) (detail, remedy string) {
	detail, remedy, _ = strings.Cut(text, "; ")
	return detail, remedy
}
