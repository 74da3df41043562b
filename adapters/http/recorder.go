package httplimit

import (
	"bufio"
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

// ReadFrom lets the connection send files as it would without the recorder.
func (w *recorder) ReadFrom(r io.Reader) (int64, error) {
	w.note(http.StatusOK)
	return io.Copy(w.ResponseWriter, r)
}

func (w *recorder) Flush() { w.FlushError() }

// FlushError tells a handler that streams when the connection has broken.
func (w *recorder) FlushError() error {
	w.note(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
