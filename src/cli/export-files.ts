import { createHash, type Hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, lstat, open, rm, writeFile } from 'node:fs/promises'
import { parse } from 'csv-parse'
import type { Checkpoint } from '../index.ts'
import { isObject, parseObject } from '../shared/json.ts'
import { CommandError } from './errors.ts'
import { unguarded } from './format.ts'
import { openOwn, replaceFile } from './private-files.ts'

/** An item that could not be read whole, and why. */
export interface FailedItem {
  readonly id: string
  readonly reason: string
  /** Whether another run can read it. */
  readonly isLater: boolean
  /** The item of the list. */
  readonly item: Readonly<Record<string, unknown>>
}

/** Where the rows of an export go: one text for each file, and then how far the list has been read. */
export interface Sink {
  /** How far the list had been read. */
  readonly start: Checkpoint
  /** Whether nothing was written yet. */
  readonly isEmpty: boolean
  /** The items that could not be read, by id. The next run tries them again. */
  readonly failed: Map<string, FailedItem>
  append(texts: readonly string[]): Promise<void>
  save(checkpoint: Checkpoint): Promise<void>
}

/** How far a file of an export has come. */
interface Progress {
  readonly bytes: number
  /** SHA-256 of them. */
  readonly digest: string
  /** The number of the file in its file system, which tells it from another one as long as it is empty. */
  readonly inode: string
}

interface Saved extends Checkpoint {
  readonly options: string
  readonly files: readonly Progress[]
}

interface OpenFile {
  readonly path: string
  readonly handle: FileHandle
  /** The number of bytes that were written. */
  bytes: number
  /** What they are hashed with. */
  readonly hash: Hash
}

/**
 * The files of an export and the checkpoint beside them. A page is written in three steps: the rows, an fsync, and a
 * rename that puts the new checkpoint into its place. If the process is killed between two of them, the file has more
 * bytes than its checkpoint counts, and the next run cuts these off.
 */
export class ExportFiles implements Sink {
  readonly start: Checkpoint
  readonly failed = new Map<string, FailedItem>()
  /** The items that the file of failed ones has. */
  #noted: ReadonlyMap<string, FailedItem> = new Map()
  readonly #files: OpenFile[] = []
  readonly #lock: AsyncDisposable
  readonly #checkpoint: string
  readonly #failed: string
  readonly #options: string

  private constructor({ cursor, done }: Checkpoint, lock: AsyncDisposable, path: string, options: string) {
    this.start = { cursor, done }
    this.#lock = lock
    this.#checkpoint = checkpointOf([path])
    this.#failed = failedOf([path])
    this.#options = options
  }

  /** Whether everything was written, so that the files stay as they are. */
  get isComplete(): boolean {
    return this.start.done && this.failed.size === 0
  }

  /**
   * Creates the files, or opens the files of an earlier run.
   *
   * @param options what must be the same in every run, as text
   * @throws CommandError if a file does not belong to the checkpoint. It is left as it is.
   */
  static async open(paths: readonly string[], options: string): Promise<ExportFiles> {
    const [path = ''] = paths
    const lock = await lockExport(path)
    try {
      const saved = await readSaved(checkpointOf(paths))
      if (saved !== undefined && (saved.options !== options || saved.files.length !== paths.length)) {
        throw refused(checkpointOf(paths), 'belongs to an export with other options, or of another organization')
      }
      const files = new ExportFiles(saved ?? { cursor: null, done: false }, lock, path, options)
      await files.#prepare(paths, saved)
      return files
    } catch (thrown) {
      await lock[Symbol.asyncDispose]()
      throw thrown
    }
  }

  async #prepare(paths: readonly string[], saved: Saved | undefined): Promise<void> {
    try {
      if (saved === undefined && existsSync(this.#failed)) {
        throw new CommandError(2, `${this.#failed} is left of another export.`, 'Choose another name, or move it away.')
      }
      for (const each of await readFailed(this.#failed)) this.failed.set(each.id, each)
      this.#noted = new Map(this.failed)
      for (const [index, path] of paths.entries()) await this.#open(path, saved?.files[index])
      if (this.isComplete) return
      for (const { handle, bytes } of this.#files) await handle.truncate(bytes)
      if (saved === undefined) await this.save(this.start)
    } catch (thrown) {
      await this.#close()
      throw thrown
    }
  }

  async #open(path: string, progress: Progress | undefined): Promise<void> {
    if (progress === undefined) {
      this.#files.push({ path, handle: await create(path), bytes: 0, hash: createHash('sha256') })
      return
    }
    const handle = await openOwn(path, this.isComplete ? 'r' : 'r+').catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'ENOENT' ? refused(this.#checkpoint, 'has lost its file') : thrown
    })
    const hash = createHash('sha256')
    this.#files.push({ path, handle, bytes: progress.bytes, hash })
    await check(path, handle, hash, progress, this.isComplete)
  }

  get isEmpty(): boolean {
    return this.#files.every(({ bytes }) => bytes === 0)
  }

  /** Yields the ids of the rows in the first file. */
  async *ids(isCsv: boolean, delimiter = ','): AsyncGenerator<string, void, undefined> {
    const [file] = this.#files
    if (file === undefined || file.bytes === 0) return
    const stream = file.handle.createReadStream({ start: 0, end: file.bytes - 1, encoding: 'utf8', autoClose: false })
    if (isCsv) {
      const rows = stream.pipe(parse({ columns: true, bom: true, delimiter }))
      for await (const { id } of rows) yield unguarded(String(id))
    } else {
      for await (const line of linesOf(stream)) yield String(parseObject(line)?.id)
    }
  }

  async append(texts: readonly string[]): Promise<void> {
    for (const [index, file] of this.#files.entries()) {
      const data = Buffer.from(texts[index] ?? '')
      await writeAll(file.handle, data, file.bytes)
      file.bytes += data.length
      file.hash.update(data)
    }
  }

  async save({ cursor, done }: Checkpoint): Promise<void> {
    // What was tried again stays noted until the checkpoint counts its rows.
    const noted = new Map([...this.#noted, ...this.failed])
    await this.#note(noted)
    const files: Progress[] = []
    for (const { handle, bytes, hash } of this.#files) {
      await handle.sync()
      const { ino } = await handle.stat({ bigint: true })
      files.push({ bytes, digest: hash.copy().digest('hex'), inode: String(ino) })
    }
    const saved: Saved = { options: this.#options, cursor, done, files }
    await replaceFile(this.#checkpoint, `${JSON.stringify(saved)}\n`)
    if (noted.size > this.failed.size) await this.#note(this.failed)
  }

  async #note(failed: ReadonlyMap<string, FailedItem>): Promise<void> {
    const lines = [...failed.values()].map((each) => `${JSON.stringify(each)}\n`)
    if (lines.length > 0) await replaceFile(this.#failed, lines.join(''))
    else if (this.#noted.size > 0) await rm(this.#failed, { force: true })
    this.#noted = new Map(failed)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.#lock[Symbol.asyncDispose]()
  }

  async #close(): Promise<void> {
    for (const { handle } of this.#files) await handle.close()
  }
}

/**
 * Writes all data. Where space ends, the system writes a part of it first, and then fails. `handle.writeFile` repeats
 * that too, but not from a position.
 */
async function writeAll(handle: FileHandle, data: Buffer, position: number): Promise<void> {
  for (let written = 0; written < data.length; ) {
    const { bytesWritten } = await handle.write(data, written, data.length - written, position + written)
    written += bytesWritten
  }
}

/** Yields the lines of a text. Unlike `node:readline`, it does not split at U+2028 and U+2029, which JSON leaves as they are. */
async function* linesOf(stream: AsyncIterable<unknown>): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of stream) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Returns the path of the checkpoint of an export. */
export function checkpointOf([path = '']: readonly string[]): string {
  return `${path}.checkpoint`
}

/** Returns the path of the items that an export could not read. */
export function failedOf([path = '']: readonly string[]): string {
  return `${path}.failed`
}

async function readFailed(path: string): Promise<FailedItem[]> {
  const lines = (await readOwn(path))?.split('\n').filter((line) => line !== '') ?? []
  return lines.map((line) => {
    const { id, reason, isLater, item } = parseObject(line) ?? {}
    if (typeof id === 'string' && typeof reason === 'string' && isObject(item))
      return { id, reason, isLater: isLater === true, item: { ...item } }
    throw refused(path, 'is damaged')
  })
}

/** Reads a text that an earlier run has written, if there is one. */
async function readOwn(path: string): Promise<string | undefined> {
  const handle = await openOwn(path, 'r').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  return handle?.readFile('utf8').finally(() => handle.close())
}

/**
 * Keeps other exports from a file until it is disposed. The lock of a process that was killed is taken over.
 *
 * @throws CommandError if another export is running
 */
async function lockExport(path: string): Promise<AsyncDisposable> {
  const lock = `${path}.lock`
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx', mode: 0o600 })
      return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) }
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
      const [owner = ''] = /^\d+$/.exec((await readOwn(lock)) ?? '') ?? []
      if (attempt > 3 || isRunning(owner)) {
        const hint = `Wait for it. If there is none, remove ${lock}.`
        throw new CommandError(75, `Another export to ${path} is running (process ${owner || 'unknown'}).`, hint)
      }
      await rm(lock, { force: true })
    }
  }
}

function isRunning(owner: string): boolean {
  // It is empty for a moment after it was created.
  if (owner === '') return true
  try {
    return process.kill(Number(owner), 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function readSaved(path: string): Promise<Saved | undefined> {
  const text = await readOwn(path)
  if (text === undefined) return undefined
  const saved = parseObject(text) as unknown as Saved | undefined
  if (typeof saved?.options === 'string' && Array.isArray(saved.files) && saved.files.every(isProgress)) return saved
  throw refused(path, 'is damaged')
}

function isProgress(value: unknown): value is Progress {
  const { bytes, digest, inode }: Partial<Progress> = isObject(value) ? value : {}
  return Number.isSafeInteger(bytes) && Number(bytes) >= 0 && typeof digest === 'string' && typeof inode === 'string'
}

/**
 * Creates a file that only the user can read. An empty file of this kind can be left over from a run that was killed
 * at this point.
 */
async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx+', 0o600)
  } catch (thrown) {
    // With a slash at its end, the path of a directory is EISDIR.
    if (!/^E(EXIST|ISDIR)$/.test((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
    const found = await lstat(path)
    if (found.isDirectory()) throw new CommandError(2, `${path} is a directory.`, 'Name a file in it.')
    const isPrivate = process.platform === 'win32' || (found.mode & 0o077) === 0
    if (found.isFile() && found.size === 0 && isPrivate) return openOwn(path, 'r+')
    throw new CommandError(2, `${path} exists, and has no checkpoint.`, 'Choose another name, or move the file away.')
  }
}

/** Hashes what an earlier run has written, and throws if it was changed. */
async function check(path: string, handle: FileHandle, hash: Hash, progress: Progress, isDone: boolean): Promise<void> {
  const { bytes, digest, inode } = progress
  const { size, ino } = await handle.stat({ bigint: true })
  if (size < bytes || (isDone && size > bytes))
    throw refused(path, `has ${size} bytes, and had ${bytes} at its checkpoint`)
  const written = bytes === 0 ? [] : handle.createReadStream({ start: 0, end: bytes - 1, autoClose: false })
  for await (const chunk of written) hash.update(chunk)
  const isSame = bytes === 0 ? String(ino) === inode : hash.copy().digest('hex') === digest
  if (!isSame) throw refused(path, 'is not the file of its checkpoint')
}

function refused(path: string, problem: string): CommandError {
  const hint =
    'Nothing was changed. Export to another file, or remove the files of this export and its checkpoint to start again.'
  return new CommandError(70, `${path} ${problem}.`, hint)
}
