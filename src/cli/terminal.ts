import { createInterface } from 'node:readline'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
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

/**
 * Escapes control characters and those that change the direction of text, as JSON does. Names and messages come from
 * the service, and could otherwise change what a terminal shows.
 */
export function printable(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => character.replace(/[\s\S]/g, escaped))
}

/** Returns a text of the service as one line, so that it cannot imitate other lines. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

/** Where a command reads and writes: data to stdout, and everything else to stderr. */
export class Terminal {
  readonly io: Io
  /** Whether programs read the output: then stderr has JSON lines only. */
  readonly json: boolean

  constructor(io: Io) {
    this.io = io
    const end = io.args.indexOf('--')
    this.json = io.args.slice(0, end === -1 ? undefined : end).includes('--json')
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
   */
  async print(text: string, effect?: string): Promise<void> {
    const { stdout, signal } = this.io
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(signal.reason)
    const goesOn = stdout.write(stdout.isTTY ? printable(text) : text, (error) => {
      if (!error) resolve()
      // After an EPIPE, the program ends.
      else if ((error as NodeJS.ErrnoException).code !== 'EPIPE') reject(lostOutput(error, effect))
    })
    // Otherwise a reader that has stopped would keep the command from ending.
    if (!goesOn) signal.addEventListener('abort', stop)
    await promise.finally(() => signal.removeEventListener('abort', stop))
  }

  /** Prints a value as a line of JSON, or a text for people. */
  async show(value: unknown, text: string): Promise<void> {
    await this.print(`${this.json ? JSON.stringify(value) : text}\n`)
  }

  /** Tells a person something on stderr. */
  say(text: string): void {
    if (!this.json) this.io.stderr.write(`${printable(text)}\n`)
  }

  /** Tells a person or a program something on stderr. */
  note(text: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.json) this.report({ note: text, ...fields })
    else this.say(text)
  }

  /** Writes a line of JSON to stderr. JSON and `printable` use the same escapes. */
  report(value: unknown): void {
    this.io.stderr.write(`${printable(JSON.stringify(value))}\n`)
  }

  /** Reads the lines of stdin, whose end means nothing. Returns a function that ends the reading. */
  onLine(handle: (line: string) => void): () => void {
    const reader = createInterface({ input: this.io.stdin, terminal: false })
    reader.on('line', handle)
    return () => reader.close()
  }

  /** Reads all of stdin. */
  async readAll(): Promise<string> {
    const { stdin, signal } = this.io
    // A stream that is interrupted rejects with another error.
    return text(addAbortSignal(signal, stdin)).finally(() => signal.throwIfAborted())
  }

  /** Asks for a yes. Without a terminal it must have been given as an option. */
  async confirm(question: string, isGiven: boolean | undefined): Promise<void> {
    if (isGiven) return
    if (!this.canAsk) throw usage(`${question} There is no terminal to answer.`, 'Pass --yes.')
    if (/^y(es)?$/i.test(await this.#ask(`${question} [y/N] `))) return
    throw new CommandError(2, 'The answer was no.', 'Nothing was sent.')
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
