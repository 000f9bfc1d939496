// The interface of a key-value storage with compare-and-set, which connections, journals and storages share.

export { type Change, GuardedStorage } from './guarded-storage.ts'
export {
  checkMethods,
  checkStorage,
  failureOf,
  type KeyValueStorage,
  memoryStorage,
  pageOf,
  type StoragePage,
  unfit,
} from './key-value-storage.ts'
export { damaged, StoredTexts } from './stored-texts.ts'
export { inTime, Turns } from './turns.ts'
