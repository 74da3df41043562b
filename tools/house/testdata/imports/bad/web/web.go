// Package web may.
package web

import _ "net/http"
