package main

import (
	"context"
	"crypto/subtle"
	"net/http"

	"github.com/stint-go/stint/core"
)

// These stand for the tables of users, with slow hashes, and of keys.
var (
	passwords = map[string]string{"alice": "a", "bob": "b"}
	apiKeys   = map[string]bool{"key-1": true, "key-2": true}
)

type userKey struct{}

// signedIn lets users pass, and puts their name into the request's context. Who
// tries passwords here is the business of the login example.
func signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		want, ok := passwords[name]
		if subtle.ConstantTimeCompare([]byte(want), []byte(password)) != 1 || !ok {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	})
}

// userOf tells the limiters who signed in.
func userOf(r core.Request) string {
	name, _ := r.Context().Value(userKey{}).(string)
	return name
}

// withKey lets requests with a known key pass. It stands before the limiter: a
// key that nobody has checked is whatever the client likes, a new one each time.
func withKey(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !apiKeys[r.Header.Get("X-Api-Key")] {
			http.Error(w, "no such key", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
