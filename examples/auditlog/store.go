package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo
)

// A store is the table of denials. With a write-ahead log, the page is read while
// rows are written; a batch that is committed is on the disk (synchronous is FULL
// unless it is changed).
type store struct {
	db   *sql.DB
	keep int64 // rows; older ones are deleted, or refusals would fill the disk
}

const schema = `CREATE TABLE IF NOT EXISTS denials (
	id INTEGER PRIMARY KEY,
	at TEXT NOT NULL, -- UTC
	policy TEXT NOT NULL,
	rate TEXT NOT NULL,
	identity TEXT NOT NULL,
	route TEXT NOT NULL,
	consumed INTEGER NOT NULL)`

// open opens the file, and makes it if it is missing.
func open(path string, keep int64) (*store, error) {
	file := url.URL{Path: path}
	db, err := sql.Open("sqlite", "file:"+file.EscapedPath()+"?_txlock=immediate&_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("audit log %s: %w", path, err), db.Close())
	}
	return &store{db, keep}, nil
}

const timeLayout = "2006-01-02 15:04:05.000000"

// insert writes all rows in one transaction: one write to the disk for many.
func (s *store) insert(ctx context.Context, rows []Denial) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after Commit
	add, err := tx.PrepareContext(ctx, `INSERT INTO denials (at, policy, rate, identity, route, consumed) VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer add.Close()
	for _, d := range rows {
		if _, err := add.ExecContext(ctx, d.At.UTC().Format(timeLayout), d.Policy, d.Rate, d.Identity, d.Route, d.Consumed); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM denials WHERE id <= (SELECT max(id) FROM denials) - ?`, s.keep); err != nil {
		return err
	}
	return tx.Commit()
}

// last are the newest n rows, the newest first.
func (s *store) last(ctx context.Context, n int) (list []Denial, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT at, policy, rate, identity, route, consumed FROM denials ORDER BY id DESC LIMIT ?`, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d Denial
		var at string
		if err := rows.Scan(&at, &d.Policy, &d.Rate, &d.Identity, &d.Route, &d.Consumed); err != nil {
			return nil, err
		}
		if d.At, err = time.Parse(timeLayout, at); err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, rows.Err()
}
