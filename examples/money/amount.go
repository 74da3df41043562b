package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

type amountKey struct{}

// withAmount lets a request pass that has an amount, and puts it into the
// request's context.
func withAmount(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
		n, err := parse(r.PostFormValue("amount"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), amountKey{}, n)))
	})
}

// amountOf is the amount of a request, in cents; 0 where there is none.
func amountOf(ctx context.Context) int64 {
	n, _ := ctx.Value(amountKey{}).(int64)
	return n
}

// parse reads an amount such as "12", "12.5" or "12.50" as cents: more than
// nothing, less than ten million, and no fraction of a cent.
func parse(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) <= 2 && len(whole) <= 7 && digits(whole+fraction) && whole != "" {
		n, _ := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
		if n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("amount %.20q: write it as 12.50", s)
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// format writes cents as "12.50".
func format(n int64) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
