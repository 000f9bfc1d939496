import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
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

/**
 * The files of an export and the checkpoint beside them. A page is written in three steps: the rows, an fsync, and a
 * rename that puts the new checkpoint into its place. If the process is killed between two of them, the file has more
 * bytes than its checkpoint counts, and the next run cuts these off.
 */
export class ExportFiles implements Sink {
  readonly start: Checkpoint
  readonly #paths: readonly string[]
  readonly #options: string
  readonly #platform: string
  readonly #handles: readonly FileHandle[]
  readonly #bytes: number[]

  private constructor(
    paths: readonly string[],
    options: string,
    platform: string,
    saved: Saved,
    handles: FileHandle[],
  ) {
    this.#paths = paths
    this.#options = options
    this.#platform = platform
    this.start = { cursor: saved.cursor, done: saved.done }
    this.#handles = handles
    this.#bytes = saved.files.map(({ bytes }) => bytes)
  }

  /**
   * Creates the files, or opens the files of an earlier run.
   *
   * @param options what must be the same in every run, as text
   * @throws CommandError if a file does not belong to the checkpoint. It is left as it is.
   */
  static async open(paths: readonly string[], options: string, platform: string): Promise<ExportFiles> {
    const saved = await readSaved(checkpointOf(paths))
    if (saved !== undefined && (saved.options !== options || saved.files.length !== paths.length)) {
      throw refused(checkpointOf(paths), 'belongs to an export with other options, or of another organization')
    }
    const handles: FileHandle[] = []
    try {
      const mode = saved?.done ? 'r' : 'r+'
      for (const path of paths) handles.push(await (saved === undefined ? create(path) : open(path, mode)))
      for (const [index, handle] of handles.entries()) await check(paths[index] ?? '', handle, index, saved)
      if (saved?.done) return new ExportFiles(paths, options, platform, saved, handles)
      for (const [index, handle] of handles.entries()) await handle.truncate(saved?.files[index]?.bytes ?? 0)
      const fresh = {
        cursor: null,
        done: false,
        options,
        files: paths.map(() => ({ bytes: 0, digest: '', inode: '' })),
      }
      const files = new ExportFiles(paths, options, platform, saved ?? fresh, handles)
      if (saved === undefined) await files.save(files.start)
      return files
    } catch (thrown) {
      for (const handle of handles) await handle.close()
      const { code } = thrown as NodeJS.ErrnoException
      throw code === 'ENOENT' && saved !== undefined ? refused(checkpointOf(paths), 'has lost its file') : thrown
    }
  }

  get isEmpty(): boolean {
    return this.#bytes.every((bytes) => bytes === 0)
  }

  /** Yields the ids of the rows in the first file. */
  async *ids(isCsv: boolean): AsyncGenerator<string, void, undefined> {
    const [path = ''] = this.#paths
    const [bytes = 0] = this.#bytes
    if (bytes === 0) return
    const stream = createReadStream(path, { end: bytes - 1 })
    if (isCsv) {
      const rows = stream.pipe(parse({ columns: true }))
      // The guard against formulas puts a quote before some ids.
      for await (const { id } of rows) yield String(id).replace(/^'(?=[=+\-@\t\r])/, '')
    } else {
      for await (const line of linesOf(stream)) yield String(parseObject(line)?.id)
    }
  }

  async append(texts: readonly string[]): Promise<void> {
    for (const [index, handle] of this.#handles.entries()) {
      const data = Buffer.from(texts[index] ?? '')
      if (data.length === 0) continue
      const position = this.#bytes[index] ?? 0
      await writeAll(handle, data, position)
      this.#bytes[index] = position + data.length
    }
  }

  async save({ cursor, done }: Checkpoint): Promise<void> {
    const files: Progress[] = []
    for (const [index, handle] of this.#handles.entries()) {
      await handle.sync()
      const bytes = this.#bytes[index] ?? 0
      const { ino } = await handle.stat({ bigint: true })
      files.push({ bytes, digest: await digestOf(handle, bytes), inode: String(ino) })
    }
    const saved: Saved = { options: this.#options, cursor, done, files }
    await replaceFile(checkpointOf(this.#paths), `${JSON.stringify(saved)}\n`, this.#platform)
  }

  async close(): Promise<void> {
    for (const handle of this.#handles) await handle.close()
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
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Returns the path of the checkpoint of an export. */
export function checkpointOf([path = '']: readonly string[]): string {
  return `${path}.checkpoint`
}

async function readSaved(path: string): Promise<Saved | undefined> {
  const text = await readBytes(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (text === undefined) return undefined
  const saved = parseObject(String(text)) as unknown as Saved | undefined
  if (typeof saved?.options === 'string' && Array.isArray(saved.files) && saved.files.every(isProgress)) return saved
  throw refused(path, 'is damaged')
}

function isProgress(value: unknown): value is Progress {
  const { bytes, digest, inode }: Partial<Progress> = isObject(value) ? value : {}
  return Number.isSafeInteger(bytes) && Number(bytes) >= 0 && typeof digest === 'string' && typeof inode === 'string'
}

/**
 * Creates a file that only the user can read. An empty file may be left over from a run that was killed at this point.
 */
async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx+', 0o600)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    const handle = await open(path, 'r+')
    const found = await handle.stat()
    if (found.isFile() && found.size === 0) return handle
    await handle.close()
    throw new CommandError(2, `${path} exists, and has no checkpoint.`, 'Choose another name, or move the file away.')
  }
}

async function check(path: string, handle: FileHandle, index: number, saved: Saved | undefined): Promise<void> {
  const progress = saved?.files[index]
  if (saved === undefined || progress === undefined) return
  const { bytes, digest, inode } = progress
  const { size, ino } = await handle.stat({ bigint: true })
  if (size < BigInt(bytes) || (saved.done && size > BigInt(bytes)))
    throw refused(path, `has ${size} bytes, and had ${bytes} at its checkpoint`)
  if ((await digestOf(handle, bytes)) !== digest) throw refused(path, 'is not the file of its checkpoint')
  if (bytes === 0 && String(ino) !== inode) throw refused(path, 'is not the file of its checkpoint')
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
