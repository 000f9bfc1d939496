import { createInterface } from 'node:readline'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { withoutSecrets } from '../errors/redact.ts'
import type { Logger } from '../index.ts'
import { CommandError, lostOutput, usage } from './errors.ts'

/** The parts of its process that a command uses. Tests pass their own. */
export interface Io {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  readonly platform: string
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal
  /** Ends the command as Ctrl-C does. A prompt reads the key itself. */
  interrupt(): void
  /** Opens an address in the browser. Whether that has worked is not known. */
  openBrowser(address: string): Promise<unknown>
  /** How long a login can take, in milliseconds. */
  readonly loginTimeout?: number
}

/** Control characters, and those that change the direction of text or hide a part of it. */
const acting =
  /(?!\n)[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
/** Joiners between letters or emoji belong to the word. Elsewhere they hide. */
const looseJoiner = /(?<![\p{L}\p{M}\p{Emoji}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Emoji}])/gu

/**
 * Escapes what could change what a terminal shows, as JSON escapes it. Names and messages come from the service.
 */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const escapeAll = (character: string) => character.replace(/[\s\S]/g, escaped)
  return text.replace(acting, escapeAll).replace(looseJoiner, escapeAll)
}

/** Returns a text of the service as one line, so that it cannot imitate other lines. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** The reader of stdout has ended, such as `head`, and needs no more. */
export class ReaderGoneError extends Error {}

/** Where a command reads and writes: data to stdout, and everything else to stderr. */
export class Terminal {
  readonly io: Io
  /** Whether programs read the output: then stderr has JSON lines only. */
  json = false

  constructor(io: Io) {
    this.io = io
  }

  /** Whether a person can be asked something. */
  get canAsk(): boolean {
    const { stdin, stderr } = this.io
    return stdin.isTTY === true && stderr.isTTY === true && !this.json
  }

  /**
   * Writes data to stdout: exactly to a pipe, and printable to a terminal.
   *
   * @param effect what the service has done, which an error then says
   * @throws ReaderGoneError if nobody reads the output, and nothing was done that its reader has to know
   */
  async print(text: string, effect?: string): Promise<void> {
    const { stdout, signal } = this.io
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(signal.reason)
    const goesOn = stdout.write(stdout.isTTY ? printable(text) : text, (error) => {
      if (!error) return resolve()
      const isGone = /^(EPIPE|ERR_STREAM_DESTROYED)$/.test((error as NodeJS.ErrnoException).code ?? '')
      reject(isGone && effect === undefined ? new ReaderGoneError() : lostOutput(error, effect))
    })
    // Otherwise a reader that has stopped would keep the command from ending.
    if (!goesOn) signal.addEventListener('abort', stop)
    await promise.finally(() => signal.removeEventListener('abort', stop))
  }

  /** Prints a value as a line of JSON, or a text for people. */
  async show(value: unknown, text: string, effect?: string): Promise<void> {
    await this.print(`${this.json ? JSON.stringify(value) : printable(text)}\n`, effect)
  }

  /** Tells a person something on stderr. */
  say(text: string): void {
    if (!this.json) this.#tell(text)
  }

  /** Tells a person or a program something on stderr. */
  note(text: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.json) this.report({ note: text, ...fields })
    else this.say(text)
  }

  /** Where clients log if SUPPORT_WORKSPACE_LOG is set. Otherwise they would log to `console`, and so into the data. */
  get logger(): Logger | undefined {
    const log = (message: string) => this.note(message)
    return this.io.env.SUPPORT_WORKSPACE_LOG ? { debug: log, info: log, warn: log, error: log } : undefined
  }

  /** Writes a line of JSON to stderr. JSON and `printable` use the same escapes. */
  report(value: unknown): void {
    this.#tell(JSON.stringify(value))
  }

  /** Writes a line to stderr. The service could have sent the token back in any text. */
  #tell(text: string): void {
    const safe = withoutSecrets(text, [this.io.env.SUPPORT_WORKSPACE_TOKEN ?? ''])
    this.io.stderr.write(`${printable(safe)}\n`)
  }

  /** Whether a person reads stderr, so that a line can be replaced by the next one. */
  get canRewrite(): boolean {
    const { stderr, env } = this.io
    return stderr.isTTY === true && !this.json && env.CI === undefined && env.TERM !== 'dumb'
  }

  /** Replaces the last line of stderr if it can be replaced. An empty text removes it. */
  status(text: string): void {
    if (this.canRewrite) this.io.stderr.write(`\r\x1b[K${printable(oneLine(text))}`)
  }

  /** Reads the lines of stdin. Returns a function that ends the reading. */
  onLine(handle: (line: string) => void, atEnd: () => void): () => void {
    const reader = createInterface({ input: this.io.stdin, terminal: false })
    reader.on('line', handle).once('close', atEnd)
    return () => reader.close()
  }

  /** Reads all of stdin. */
  async readAll(): Promise<Buffer> {
    const { stdin, signal } = this.io
    // A stream that is interrupted rejects with another error.
    return buffer(addAbortSignal(signal, stdin)).finally(() => signal.throwIfAborted())
  }

  /** Asks for a yes. Without a terminal it must have been given as an option. */
  async confirm(question: string, isGiven: boolean | undefined): Promise<void> {
    if (isGiven) return
    if (!this.canAsk) throw usage(`${question} There is no terminal to answer.`, 'Pass --yes.')
    if (/^y(es)?$/i.test(await this.#ask(`${question} [y/N] `))) return
    throw new CommandError(2, 'The answer was no.', 'Nothing was sent.')
  }

  /** Asks for a text. */
  ask(question: string): Promise<string> {
    return this.#ask(question)
  }

  /** Asks for a secret, which is not shown as it is typed. */
  askSecret(question: string): Promise<string> {
    return this.#ask(question, true)
  }

  async #ask(question: string, isHidden = false): Promise<string> {
    const { stdin, stderr, signal } = this.io
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
    const reader = createInterface({ input: stdin, output: isHidden ? nowhere : stderr, terminal: true })
    // The terminal no longer shows what is typed.
    if (isHidden) stderr.write(question)
    reader.on('SIGINT', () => this.io.interrupt())
    try {
      return await new Promise<string>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        reader.once('close', () => resolve(''))
        reader.question(question, resolve)
      })
    } finally {
      reader.close()
      if (isHidden) stderr.write('\n')
    }
  }
}
