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
} from './connections/postgres-storage.ts'
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisClient,
  redisStorage,
} from './connections/redis-storage.ts'
export { singleProcessStorage, type UnstorageLike } from './connections/single-process-storage.ts'
export {
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteStorage,
  sqliteStorage,
} from './connections/sqlite-storage.ts'
export { type ConnectionStorage, memoryStorage, type StoragePage } from './connections/storage.ts'
