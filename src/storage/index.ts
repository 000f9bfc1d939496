/**
 * Storages for a `ConnectionStore`: SQLite, Redis, Postgres, memory, and `unstorage` in a single process.
 *
 * @module support-workspace-sdk/storage
 */

export {
  type PostgresClient,
  type PostgresStorageOptions,
  postgresStorage,
  postgresTable,
} from './adapters/postgres-storage.ts'
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisClient,
  redisStorage,
} from './adapters/redis-storage.ts'
export { singleProcessStorage, type UnstorageLike } from './adapters/single-process-storage.ts'
export {
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteStorage,
  sqliteStorage,
} from './adapters/sqlite-storage.ts'
export { type KeyValueStorage, memoryStorage, type StoragePage } from './interface.ts'
