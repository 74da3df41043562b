package httplimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// A recorder notes the status of the response. It takes nothing away from the
// ResponseWriter: what that can not do is an error here, as it is for an
// http.ResponseController, which finds all else by Unwrap.
type recorder struct {
	http.ResponseWriter
	status int
}

// sent is the status that the client gets: 200 where the handler wrote nothing.
func (w *recorder) sent() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

func (w *recorder) note(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) { // others come before it
		w.status = status
	}
}

func (w *recorder) WriteHeader(status int) {
	w.note(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// WriteString spares io.WriteString the copy, as it does without the recorder.
func (w *recorder) WriteString(s string) (int, error) {
	w.note(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// ReadFrom lets the connection send files as it would without the recorder. Where
// there was nothing to read the handler can still answer otherwise.
func (w *recorder) ReadFrom(r io.Reader) (n int64, err error) {
	if n, err = io.Copy(w.ResponseWriter, r); n > 0 {
		w.note(http.StatusOK)
	}
	return n, err
}

// Flush implements http.Flusher, which has no error to tell.
func (w *recorder) Flush() { _ = w.FlushError() }

// FlushError is what an http.ResponseController calls.
func (w *recorder) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		w.note(http.StatusOK)
	}
	return err
}

// Hijack hands the connection over: nobody knows what is sent there, but nearly
// always that the protocol is another one.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.note(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

func (w *recorder) Push(target string, opts *http.PushOptions) error {
	if p, ok := w.ResponseWriter.(http.Pusher); ok {
		return p.Push(target, opts)
	}
	return http.ErrNotSupported
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
