import { DatabaseSync } from 'node:sqlite'

/** A storage that several processes on one machine can share, used directly or as an unstorage driver. */
export function sqliteStorage(path: string) {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 5000')
  database.exec('CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID')
  const get = database.prepare('SELECT value FROM items WHERE key = ?')
  const set = database.prepare('INSERT INTO items VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
  const remove = database.prepare('DELETE FROM items WHERE key = ?')
  const keys = database.prepare('SELECT key FROM items WHERE substr(key, 1, length(?1)) = ?1')
  return {
    hasItem: (key: string): boolean => get.get(key) !== undefined,
    getItem: (key: string): string | null => (get.get(key)?.value as string | undefined) ?? null,
    setItem: (key: string, value: string): void => void set.run(key, value),
    removeItem: (key: string): void => void remove.run(key),
    getKeys: (base = ''): string[] => keys.all(base).map((row) => String(row.key)),
    dispose: (): void => database.close(),
  }
}
