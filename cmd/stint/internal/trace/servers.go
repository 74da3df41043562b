package trace

import (
	"errors"
	"fmt"
	"strings"
)

// A property reads the value of one name in a server's JSON log.
type property func(s *scanner, e *Entry) error

// parseProperties reads a JSON object of which some names are known.
func parseProperties(text string, e *Entry, known map[string]property) error {
	e.At = -1
	s := scanner{text: text}
	err := s.object(func(name string) error {
		if read := known[strings.ToLower(name)]; read != nil {
			return read(&s, e)
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && e.At < 0 {
		err = errors.New("no time")
	}
	return err
}

// A word becomes a property by the function that keeps it.
func asText(keep func(e *Entry, text string)) property {
	return func(s *scanner, e *Entry) error {
		text, err := s.word()
		if err == nil && text != "" && text != "-" {
			keep(e, text)
		}
		return err
	}
}

func asHeader(name string) property {
	return asText(func(e *Entry, text string) { e.AddHeader(name, text) })
}

var (
	asTime = property(func(s *scanner, e *Entry) error {
		text, err := s.word()
		if err == nil && e.At < 0 { // the first of several times counts
			e.At, err = moment(text)
		}
		return err
	})
	asIP = property(func(s *scanner, e *Entry) error {
		text, err := s.word()
		if err == nil && text != "" && text != "-" && !strings.HasPrefix(text, "unix:") {
			if e.Client = address(text); !e.Client.IsValid() {
				err = fmt.Errorf("%.60q is no address", text)
			}
		}
		return err
	})
	asMethod = asText(func(e *Entry, text string) { e.Verb = text })
	asURI    = asText(func(e *Entry, text string) { e.URI = text })
	asUser   = asText(func(e *Entry, text string) { e.UserName = text })
	asLine   = asText(func(e *Entry, text string) { e.request(text) })
)

// caddyRequest are the properties of the request in a line of Caddy.
var caddyRequest = map[string]property{
	"remote_ip": func(s *scanner, e *Entry) error {
		if e.Client.IsValid() { // client_ip is Caddy's own answer to the same question
			return s.skip()
		}
		return asIP(s, e)
	},
	"client_ip": asIP,
	"method":    asMethod,
	"uri":       asURI,
	"host":      asHeader("Host"),
	"headers":   func(s *scanner, e *Entry) error { return s.pairs(e.AddHeader) },
}

// caddy are those of the line.
var caddy = map[string]property{
	"ts":      asTime,
	"user_id": asUser,
	"request": func(s *scanner, e *Entry) error {
		return s.object(func(name string) error {
			if read := caddyRequest[name]; read != nil {
				return read(s, e)
			}
			return s.skip()
		})
	},
}

// nginx has no JSON form of its own: these are the names of its variables, as
// log_format lines of JSON have them.
var nginx = map[string]property{
	"msec": asTime, "time_iso8601": asTime, "time_local": asTime, "time": asTime, "timestamp": asTime, "@timestamp": asTime,
	"remote_addr": asIP, "remote_user": asUser,
	"request": asLine, "request_method": asMethod, "method": asMethod,
	"request_uri": asURI, "uri": func(s *scanner, e *Entry) error {
		if e.URI != "" { // $uri has no query and may be rewritten
			return s.skip()
		}
		return asURI(s, e)
	},
	"http_host": asHeader("Host"), "host": asHeader("Host"),
	"http_user_agent": asHeader("User-Agent"), "http_referer": asHeader("Referer"), "http_referrer": asHeader("Referer"),
	"http_x_forwarded_for": asHeader("X-Forwarded-For"), "http_x_real_ip": asHeader("X-Real-Ip"),
	"http_x_api_key": asHeader("X-Api-Key"), "http_authorization": asHeader("Authorization"),
}

// envoy are the names of Envoy's operators as its JSON formats have them, Istio's
// included.
var envoy = map[string]property{
	"start_time": asTime, "timestamp": asTime,
	"downstream_remote_address":              asIP,
	"downstream_remote_address_without_port": asIP,
	"downstream_direct_remote_address":       asPeer,
	"method":                                 asMethod,
	":method":                                asMethod,
	"path":                                   asURI,
	":path":                                  asURI,
	"x_envoy_original_path":                  asURI,
	"x-envoy-original-path":                  asURI,
	"authority":                              asHeader("Host"),
	":authority":                             asHeader("Host"),
	"user_agent":                             asHeader("User-Agent"),
	"user-agent":                             asHeader("User-Agent"),
	"x_forwarded_for":                        asHeader("X-Forwarded-For"),
	"x-forwarded-for":                        asHeader("X-Forwarded-For"),
	"x_api_key":                              asHeader("X-Api-Key"),
	"x-api-key":                              asHeader("X-Api-Key"),
}

// asPeer is the address of the connection, where no better one is known.
var asPeer = property(func(s *scanner, e *Entry) error {
	if e.Client.IsValid() {
		return s.skip()
	}
	return asIP(s, e)
})
