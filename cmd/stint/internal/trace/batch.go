package trace

import (
	"bytes"
	"errors"
	"strings"
)

// A Batch is some consecutive lines of one file.
type Batch struct {
	Entries []Entry
	Broken  []Broken
	Read    int64 // bytes of the input up to here, compressed ones where it is
	Err     error // the input ended early
}

// A Broken line is one that could not be read.
type Broken struct {
	File string
	Line int // from 1 on
	Err  error
	Text string // its beginning
}

// A chunk is some whole lines, not yet read.
type chunk struct {
	file  *file
	line  int // number of the first one
	text  []byte
	read  int64
	err   error
	batch chan *Batch // gets the one batch that is made of it
}

const excerpt = 120

// parse reads the lines of a chunk. The entries refer to one copy of its text.
func (c *chunk) parse() *Batch {
	text := string(c.text)
	b := &Batch{Entries: make([]Entry, 0, bytes.Count(c.text, []byte{'\n'})+1), Read: c.read, Err: c.err}
	for n := c.line; text != ""; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		b.Entries = append(b.Entries, Entry{})
		e := &b.Entries[len(b.Entries)-1]
		err := c.file.format.parse(line, e)
		if len(line) > maxLine {
			err = errLong
		}
		if err != nil {
			b.Entries = b.Entries[:len(b.Entries)-1]
			b.Broken = append(b.Broken, Broken{c.file.name, n, err, line[:min(len(line), excerpt)]})
		}
	}
	return b
}

const maxLine = 1 << 20

var errLong = errors.New("a line of more than 1 MiB")
