import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { parse } from 'csv-parse'
import type { Checkpoint } from '../index.ts'
import { isObject, parseObject } from '../shared/json.ts'
import { CommandError } from './errors.ts'
import { readBytes, replaceFile } from './private-files.ts'

/** Where the rows of an export go: one text for each file, and then how far the list has been read. */
export interface Sink {
  /** How far the list had been read. */
  readonly start: Checkpoint
  /** Whether nothing was written yet. */
  readonly isEmpty: boolean
  append(texts: readonly string[]): Promise<void>
  save(checkpoint: Checkpoint): Promise<void>
}

/** How far a file of an export has come. */
interface Progress {
  readonly bytes: number
  /** SHA-256 of the first and the last 4 KiB below `bytes`. */
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
}

/**
 * The files of an export and the checkpoint beside them. A page is written in three steps: the rows, an fsync, and a
 * rename that puts the new checkpoint into its place. If the process is killed between two of them, the file has more
 * bytes than its checkpoint counts, and the next run cuts these off.
 */
export class ExportFiles implements Sink {
  readonly start: Checkpoint
  readonly #files: OpenFile[] = []
  readonly #checkpoint: string
  readonly #options: string

  private constructor({ cursor, done }: Checkpoint, checkpoint: string, options: string) {
    this.start = { cursor, done }
    this.#checkpoint = checkpoint
    this.#options = options
  }

  /**
   * Creates the files, or opens the files of an earlier run.
   *
   * @param options what must be the same in every run, as text
   * @throws CommandError if a file does not belong to the checkpoint. It is left as it is.
   */
  static async open(paths: readonly string[], options: string): Promise<ExportFiles> {
    const checkpoint = checkpointOf(paths)
    const saved = await readSaved(checkpoint)
    if (saved !== undefined && (saved.options !== options || saved.files.length !== paths.length)) {
      throw refused(checkpoint, 'belongs to an export with other options, or of another organization')
    }
    const files = new ExportFiles(saved ?? { cursor: null, done: false }, checkpoint, options)
    try {
      for (const [index, path] of paths.entries()) await files.#open(path, saved?.files[index])
      if (saved?.done) return files
      for (const { handle, bytes } of files.#files) await handle.truncate(bytes)
      if (saved === undefined) await files.save(files.start)
      return files
    } catch (thrown) {
      await files[Symbol.asyncDispose]()
      throw thrown
    }
  }

  async #open(path: string, progress: Progress | undefined): Promise<void> {
    if (progress === undefined) {
      this.#files.push({ path, handle: await create(path), bytes: 0 })
      return
    }
    const handle = await open(path, this.start.done ? 'r' : 'r+').catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'ENOENT' ? refused(this.#checkpoint, 'has lost its file') : thrown
    })
    this.#files.push({ path, handle, bytes: progress.bytes })
    await check(path, handle, progress, this.start.done)
  }

  get isEmpty(): boolean {
    return this.#files.every(({ bytes }) => bytes === 0)
  }

  /** Yields the ids of the rows in the first file. */
  async *ids(isCsv: boolean): AsyncGenerator<string, void, undefined> {
    const [file] = this.#files
    if (file === undefined || file.bytes === 0) return
    const stream = createReadStream(file.path, { end: file.bytes - 1, encoding: 'utf8' })
    if (isCsv) {
      const rows = stream.pipe(parse({ columns: true }))
      // The guard against formulas puts a quote before some ids.
      for await (const { id } of rows) yield String(id).replace(/^'(?=[=+\-@\t\r])/, '')
    } else {
      for await (const line of linesOf(stream)) yield String(parseObject(line)?.id)
    }
  }

  async append(texts: readonly string[]): Promise<void> {
    for (const [index, file] of this.#files.entries()) {
      const data = Buffer.from(texts[index] ?? '')
      await writeAll(file.handle, data, file.bytes)
      file.bytes += data.length
    }
  }

  async save({ cursor, done }: Checkpoint): Promise<void> {
    const files: Progress[] = []
    for (const { handle, bytes } of this.#files) {
      await handle.sync()
      const { ino } = await handle.stat({ bigint: true })
      files.push({ bytes, digest: await digestOf(handle, bytes), inode: String(ino) })
    }
    const saved: Saved = { options: this.#options, cursor, done, files }
    await replaceFile(this.#checkpoint, `${JSON.stringify(saved)}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
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

async function readSaved(path: string): Promise<Saved | undefined> {
  if (!existsSync(path)) return undefined
  const saved = parseObject(String(await readBytes(path))) as unknown as Saved | undefined
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
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    const found = await lstat(path)
    const isPrivate = process.platform === 'win32' || (found.mode & 0o077) === 0
    if (found.isFile() && found.size === 0 && isPrivate) return open(path, 'r+')
    throw new CommandError(2, `${path} exists, and has no checkpoint.`, 'Choose another name, or move the file away.')
  }
}

async function check(path: string, handle: FileHandle, progress: Progress, isDone: boolean): Promise<void> {
  const { bytes, digest, inode } = progress
  const { size, ino } = await handle.stat({ bigint: true })
  if (size < bytes || (isDone && size > bytes))
    throw refused(path, `has ${size} bytes, and had ${bytes} at its checkpoint`)
  const isSame = bytes === 0 ? String(ino) === inode : (await digestOf(handle, bytes)) === digest
  if (!isSame) throw refused(path, 'is not the file of its checkpoint')
}

const digested = 4096

async function digestOf(handle: FileHandle, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const length = Math.min(bytes, digested)
  for (const position of [0, bytes - length]) {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(length), position, length })
    hash.update(buffer.subarray(0, bytesRead))
  }
  return hash.digest('hex')
}

function refused(path: string, problem: string): CommandError {
  const hint = 'Nothing was changed. Export to another file, or remove this one and its checkpoint to start again.'
  return new CommandError(70, `${path} ${problem}.`, hint)
}
