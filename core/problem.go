package core

import (
	"bytes"
	"strconv"
)

// The problem types of draft-ietf-httpapi-ratelimit-headers-10, section 6.
const (
	ProblemQuotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	ProblemReducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
	ProblemAbnormalUsage   = "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"
)

const problemJSON = "application/problem+json"

// Refusal is the standard answer to a refused request: 429 (RFC 6585) and a
// problem document (RFC 9457) that names the violated policies and nothing else:
// no key, no address, no text of the client.
func Refusal(d Decision) Response {
	r := d.refusal()
	r.Body = bytes.Clone(r.Body) // the caller's to change
	return r
}

// refusal is Refusal with a body that must not be changed: for a policy alone it
// was made at start-up. Of a request that was admitted, as where policies only
// annotate, it names those that are over their limit.
func (d *Decision) refusal() Response {
	r := Response{Status: 429, ContentType: problemJSON}
	if d.len() == 1 {
		r.Body = d.first.b.policy.problem
		return r
	}
	var names []string
	for i := range d.len() {
		e := d.at(i)
		name := e.b.policy.name
		if e.refused() && e.soft == d.Allowed && (len(names) == 0 || names[len(names)-1] != name) {
			names = append(names, name)
		}
	}
	if r.Body = appendProblem(names...); d.Banned {
		r.Body = appendBanProblem(names...)
	}
	return r
}

// appendProblem renders the document. Policy names need no escaping: New admits
// letters, digits, "-" and "_".
func appendProblem(names ...string) []byte {
	return appendNames(ProblemQuotaExceeded, "Request cannot be satisfied as assigned quota has been exceeded", names)
}

func appendBanProblem(names ...string) []byte {
	return appendNames(ProblemAbnormalUsage, "Request not satisfied due to detection of abnormal request pattern", names)
}

func appendNames(kind, title string, names []string) []byte {
	b := []byte(`{"type":"` + kind + `","title":"` + title + `","status":429,"violated-policies":[`)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, '"')
	}
	return append(b, "]}"...)
}

// failure is the answer to a request that could not be decided.
func failure(status int) Response {
	kind, title := "about:blank", titles[status]
	if status == 503 {
		kind = ProblemReducedCapacity
	}
	body := `{"type":"` + kind + `","title":"` + title + `","status":` + strconv.Itoa(status) + `}`
	return Response{Status: status, ContentType: problemJSON, Body: []byte(body)}
}

var titles = map[int]string{
	400: "Bad Request",
	403: "Forbidden",
	413: "Content Too Large",
	415: "Unsupported Media Type",
	500: "Internal Server Error",
	503: "Service Unavailable",
}
