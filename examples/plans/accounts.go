package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/stint-go/stint/core"
)

const (
	cached     = 10_000      // accounts
	cachedFor  = time.Minute // how long other processes may not notice a change
	patience   = time.Second // with the database
	mostOpened = 4           // connections
	schema     = `
CREATE TABLE IF NOT EXISTS plans (name TEXT PRIMARY KEY, rate TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS accounts (
	name TEXT NOT NULL UNIQUE,
	key_sha256 BLOB PRIMARY KEY, -- keys are long and random: a plain hash hides them
	plan TEXT NOT NULL REFERENCES plans (name));
INSERT OR IGNORE INTO plans VALUES ('free', '10/m'), ('pro', '100/m; 20000/d');`
)

// A digest stands for an API key.
type digest = [sha256.Size]byte

// An account is what a key stands for.
type account struct {
	name  string
	rates core.Rates
}

// open opens the database, and fills it with plans and with two accounts to try.
func open(path string) (*sql.DB, error) {
	file := url.URL{Path: path}
	db, err := sql.Open("sqlite", "file:"+file.EscapedPath()+
		"?_pragma=busy_timeout(1000)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(mostOpened)
	_, err = db.Exec(schema)
	for _, name := range []string{"ann", "bob"} {
		key := sha256.Sum256([]byte(name + "-key"))
		if err == nil {
			_, err = db.Exec("INSERT OR IGNORE INTO accounts VALUES (?, ?, 'free')", name, key[:])
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	return db, nil
}

// accounts are those of the database, through a cache.
type accounts struct {
	db    *sql.DB
	cache *cache
}

func newAccounts(db *sql.DB, now func() time.Time) *accounts {
	return &accounts{db, newCache(cached, cachedFor, now)}
}

// find asks the database for the account of a key; the error is sql.ErrNoRows
// where nobody has it. What it finds is cached. What it does not find is not: or
// somebody who guesses keys could push all accounts out of the cache.
func (a *accounts) find(ctx context.Context, key digest) (account, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	version := a.cache.version()
	var found account
	var rate string
	err := a.db.QueryRowContext(ctx, `SELECT accounts.name, rate FROM accounts JOIN plans ON plans.name = plan
		WHERE key_sha256 = ?`, key[:]).Scan(&found.name, &rate)
	if err != nil {
		return account{}, err
	}
	if found.rates, err = core.ParseRates(rate); err != nil {
		return account{}, fmt.Errorf("plan of %s: %w", found.name, err)
	}
	a.cache.put(key, found, version)
	return found, nil
}

// change gives an account another plan, which holds from the next request on.
// What is used up stays used up.
func (a *accounts) change(w http.ResponseWriter, r *http.Request) {
	plan := r.PostFormValue("plan")
	var key []byte
	err := a.db.QueryRowContext(r.Context(), `UPDATE accounts SET plan = ?1
		WHERE name = ?2 AND EXISTS (SELECT * FROM plans WHERE name = ?1) RETURNING key_sha256`,
		plan, r.PathValue("name")).Scan(&key)
	if len(key) == len(digest{}) {
		a.cache.forget(digest(key)) // whether or not the change was kept
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "no such account or plan", http.StatusNotFound)
	case err != nil:
		http.Error(w, "perhaps not changed: "+err.Error(), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "changed")
	}
}
