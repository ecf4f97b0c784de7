#include <sqlite3.h>

/* Variadic functions cannot be called from Swift. */
static inline void kassa_sqlite_keep_log(sqlite3 *connection) {
  int persist = 1;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
}

/* SQLITE_TRANSIENT is a cast in a macro, which Swift cannot import. */
static inline sqlite3_destructor_type kassa_sqlite_transient(void) { return SQLITE_TRANSIENT; }
