package trace

import (
	"errors"
	"fmt"
)

// parseLine reads stint's own form:
//
//	{"at_ms":0,"key":"a","cost":1}
func parseLine(text string, e *Entry) error {
	s := scanner{text: text}
	timed := false
	err := s.object(func(name string) (err error) {
		if s.peek() == 'n' { // null is like leaving it out
			return s.literal("null")
		}
		switch name {
		case "at_ms":
			var n string
			if n, err = s.number(); err == nil {
				timed = true
				e.At, err = millis(n)
			}
		case "op":
			err = s.op(e)
		case "cost":
			var n string
			if n, err = s.number(); err == nil {
				e.HasCost = true
				if e.Cost, err = whole(n); err != nil {
					err = fmt.Errorf("cost: %w", err)
				}
			}
		case "key":
			var key string
			if key, err = s.word(); err == nil {
				e.SetKey(key)
			}
		case "keys":
			err = s.keys(e)
		default:
			err = s.attribute(name, e)
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && !timed {
		err = errors.New("no at_ms")
	}
	return err
}

func (s *scanner) op(e *Entry) error {
	word, err := s.str()
	switch word {
	case "take":
		e.Op = Take
	case "peek":
		e.Op = Peek
	case "refund":
		e.Op = Refund
	default:
		if err == nil {
			err = fmt.Errorf("unknown op %.40q: take, peek and refund are known", word)
		}
	}
	return err
}

// MaxKeys is how many keys one entry can have.
const MaxKeys = 64

func (s *scanner) keys(e *Entry) error {
	e.Keys = []string{}
	err := s.array(func() error {
		key, err := s.word()
		e.Keys = append(e.Keys, key)
		return err
	})
	switch {
	case err != nil:
	case len(e.Keys) == 0:
		err = errors.New("keys: the list is empty")
	case len(e.Keys) > MaxKeys:
		err = fmt.Errorf("keys: %d of them, where %d are possible", len(e.Keys), MaxKeys)
	}
	return err
}

// attribute reads what describes the request; what is not known is left aside.
func (s *scanner) attribute(name string, e *Entry) (err error) {
	text := func(to *string) error {
		*to, err = s.word()
		return err
	}
	switch name {
	case "ip":
		var ip string
		if err := text(&ip); err != nil {
			return err
		}
		if e.Client = address(ip); !e.Client.IsValid() && ip != "" {
			return fmt.Errorf("ip: %.60q is no address", ip)
		}
		return nil
	case "user":
		return text(&e.UserName)
	case "method":
		return text(&e.Verb)
	case "route":
		return text(&e.Template)
	case "path":
		return text(&e.URI)
	case "headers":
		return s.pairs(e.AddHeader)
	case "query":
		return s.pairs(func(name, value string) { e.Args = append(e.Args, Field{name, value}) })
	case "form":
		return s.pairs(func(name, value string) { e.Form = append(e.Form, Field{name, value}) })
	case "json":
		s.space()
		start := s.pos
		if err := s.skip(); err != nil {
			return err
		}
		e.Document = s.text[start:s.pos]
		return nil
	}
	return s.skip()
}

// pairs reads an object of texts, or of lists of texts as headers have them.
func (s *scanner) pairs(add func(name, value string)) error {
	return s.object(func(name string) error {
		if s.peek() == '[' {
			return s.array(func() error {
				value, err := s.word()
				add(name, value)
				return err
			})
		}
		value, err := s.word()
		add(name, value)
		return err
	})
}
