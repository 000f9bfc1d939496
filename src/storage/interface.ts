// The interface of a key-value storage with compare-and-set, which connections, journals and storages share.

export {
  type ContentOf,
  Entries,
  type FieldChecks,
  hasFields,
  isCount,
  isListOf,
  isOneOf,
  isOptional,
  isRecordOf,
  isText,
} from './entries.ts'
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
export { StoredTexts, storedTexts } from './stored-texts.ts'
export { inTime, Turns } from './turns.ts'
