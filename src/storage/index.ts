/**
 * Storages for a `ConnectionStore`: SQLite, Redis, Postgres, memory, and `unstorage` in a single process.
 *
 * @module support-workspace-sdk/storage
 */

export { type KeyValueStorage, memoryStorage, type StoragePage } from '../key-value/index.ts'
export {
  type PostgresClient,
  type PostgresStorageOptions,
  postgresStorage,
  postgresTable,
} from './postgres-storage.ts'
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisClient,
  redisStorage,
} from './redis-storage.ts'
export { singleProcessStorage, type UnstorageLike } from './single-process-storage.ts'
export {
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteStorage,
  sqliteStorage,
} from './sqlite-storage.ts'
