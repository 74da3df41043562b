package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"sync/atomic"
)

// A Reader reads files one after the other. Lines are taken apart by as many
// goroutines as there are processors, and come out in their order.
type Reader struct {
	files []*file
	// Size is how many bytes all files have, 0 where that is not known.
	Size int64
}

type file struct {
	name   string
	in     io.Reader // standard input
	format *Format   // nil: to be detected
}

// Open prepares to read files, standard input for "-" or where there are none. It
// opens none of them yet, and complains about those that are not there.
func Open(names []string, format string, stdin io.Reader) (*Reader, error) {
	f, err := FormatOf(format)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	r, sized := new(Reader), true
	var errs []error
	for _, name := range names {
		if name == "-" {
			r.files = append(r.files, &file{"standard input", stdin, f})
			sized = false
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case info.IsDir():
			errs = append(errs, fmt.Errorf("%s is a directory: name the files in it", name))
		case !info.Mode().IsRegular():
			sized = false
		}
		r.Size += info.Size()
		r.files = append(r.files, &file{name, nil, f})
	}
	if !sized {
		r.Size = 0
	}
	return r, errors.Join(errs...)
}

// Batches yields the lines of all files. The last batch has an Err where a file
// could not be read to its end; those before it are good. A ctx that is done ends
// it early and without an error.
func (r *Reader) Batches(ctx context.Context) iter.Seq[*Batch] {
	return func(yield func(*Batch) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		workers := runtime.GOMAXPROCS(0)
		todo, inOrder := make(chan *chunk), make(chan *chunk, 2*workers)
		for range workers {
			go func() {
				for c := range todo {
					c.batch <- c.parse()
				}
			}()
		}
		go func() {
			defer close(inOrder)
			defer close(todo)
			r.cut(func(c *chunk) bool {
				c.batch = make(chan *Batch, 1)
				select {
				case inOrder <- c:
				case <-ctx.Done():
					return false
				}
				if c.file.format == nil { // nothing but an error
					c.batch <- &Batch{Read: c.read, Err: c.err}
					return true
				}
				select {
				case todo <- c:
					return true
				case <-ctx.Done():
					c.batch <- new(Batch)
					return false
				}
			})
		}()
		for {
			select { // whoever writes to standard input may take its time
			case <-ctx.Done():
				return
			case c, more := <-inOrder:
				if !more {
					return
				}
				if b := <-c.batch; ctx.Err() != nil || !yield(b) || b.Err != nil {
					return
				}
			}
		}
	}
}

// cut cuts all files into chunks, until emit has had enough.
func (r *Reader) cut(emit func(*chunk) bool) {
	var read atomic.Int64
	for _, f := range r.files {
		if !f.cut(&read, emit) {
			return
		}
	}
}

const chunkSize = 64 << 10

func (f *file) cut(read *atomic.Int64, emit func(*chunk) bool) bool {
	in, closer, err := f.open(read)
	if err != nil {
		return emit(&chunk{file: f, err: err})
	}
	defer closer()
	if f.format == nil {
		head, err := in.Peek(chunkSize)
		if len(bytes.TrimSpace(head)) == 0 && (err == nil || errors.Is(err, io.EOF)) {
			return true // an empty file has no form
		}
		if f.format, err = detect(firstLines(head)); err != nil {
			return emit(&chunk{file: f, err: fmt.Errorf("%s: %w", f.name, err)})
		}
	}
	lines := lineCutter{in: in, line: 1}
	for {
		text, line, err := lines.next()
		if err == io.EOF && len(text) == 0 {
			return true
		}
		c := &chunk{file: f, line: line, text: text, read: read.Load()}
		if err != nil && err != io.EOF {
			c.err = fmt.Errorf("%s: %w", f.name, err)
		}
		if !emit(c) {
			return false
		}
		if err != nil {
			return c.err == nil
		}
	}
}

// open opens the file and unpacks it where it is packed.
func (f *file) open(read *atomic.Int64) (*bufio.Reader, func(), error) {
	in, closer := f.in, func() {}
	if in == nil {
		opened, err := os.Open(f.name)
		if err != nil {
			return nil, nil, err
		}
		in, closer = opened, func() { opened.Close() }
	}
	plain := bufio.NewReaderSize(counted{in, read}, chunkSize)
	if head, _ := plain.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return plain, closer, nil
	}
	unpacked, err := gzip.NewReader(plain)
	if err != nil {
		closer()
		return nil, nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return bufio.NewReaderSize(unpacked, chunkSize), closer, nil
}

// counted counts what is read.
type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// firstLines are some lines of the beginning of a file, the last one only if it
// is whole or the only one.
func firstLines(head []byte) (lines []string) {
	for line := range bytes.Lines(head) {
		whole := line[len(line)-1] == '\n' || len(head) < chunkSize
		if line = bytes.TrimSpace(line); len(line) > 0 && (whole || len(lines) == 0) {
			lines = append(lines, string(line))
		}
		if len(lines) == 50 {
			break
		}
	}
	return lines
}

// A lineCutter cuts a stream behind line ends.
type lineCutter struct {
	in   io.Reader
	line int
	rest []byte
}

// next is the next whole lines, and the number of the first. A line that is too
// long comes shortened.
func (l *lineCutter) next() (text []byte, line int, err error) {
	line = l.line
	buf := make([]byte, 0, chunkSize+len(l.rest))
	buf, l.rest = append(buf, l.rest...), nil
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, len(buf))...)[:len(buf)]
		}
		var n int
		n, err = l.in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, line, err
		}
		end := bytes.LastIndexByte(buf, '\n') + 1
		if end > 0 && len(buf) >= chunkSize*3/4 {
			l.rest = bytes.Clone(buf[end:])
			l.line += bytes.Count(buf[:end], []byte{'\n'})
			return buf[:end], line, nil
		}
		if end == 0 && len(buf) > 2*maxLine {
			buf = buf[:maxLine+1]
		}
	}
}
